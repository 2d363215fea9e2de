import { hasInvisible, isStorable } from '../api/characters.ts'
import { refuseRegistration } from '../redirect-uris.ts'

export interface ClientForm {
  name: string
  kind: 'public' | 'confidential'
  redirectUris: string[]
}

//
const longestName = 100

/** A client as an admin asks for it, or why it cannot be. There is no way to ask for an id (S-059). */
export function readClientForm(asked: {
  name: string
  kind: string
  redirectUris: string[]
}): { kind: 'form'; form: ClientForm } | { kind: 'refused'; problem: string } {
  const { name } = asked
  const problem = refuseName(name) ?? refuseRegistration(asked.redirectUris)
  if (problem !== undefined) return { kind: 'refused', problem }
  if (asked.kind !== 'public' && asked.kind !== 'confidential') {
    return { kind: 'refused', problem: 'the kind is public or confidential' }
  }
  if (new Set(asked.redirectUris).size < asked.redirectUris.length) {
    return { kind: 'refused', problem: 'a redirect URI is given twice' }
  }
  return { kind: 'form', form: { name, kind: asked.kind, redirectUris: asked.redirectUris } }
}

function refuseName(name: string): string | undefined {
  if (name.trim() === '' || [...name].length > longestName) return `the name has 1 to ${longestName} characters`
  return hasInvisible(name) || !isStorable(name)
    ? 'the name may not hold control, bidi or zero-width characters'
    : undefined
}
