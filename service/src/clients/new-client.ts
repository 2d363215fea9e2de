import { hasInvisible, isStorable } from '../api/characters.ts'
import { requestLimits } from '../limits.ts'
import { refuseRegistration } from '../redirect-uris.ts'

export interface ClientForm {
  name: string
  kind: 'public' | 'confidential'
  redirectUris: string[]
}

/** Reads the form of a new client, or returns why it is refused. Nothing lets an admin choose an id (S-059). */
export function readClientForm(asked: {
  name: string
  kind: string
  redirectUris: string[]
}): { kind: 'form'; form: ClientForm } | { kind: 'refused'; problem: string } {
  const { name } = asked
  const problem = refuseName(name) ?? refuseRegistration(asked.redirectUris)
  if (problem !== undefined) return { kind: 'refused', problem }
  if (asked.kind !== 'public' && asked.kind !== 'confidential') {
    return { kind: 'refused', problem: 'the kind must be public or confidential' }
  }
  if (new Set(asked.redirectUris).size < asked.redirectUris.length) {
    return { kind: 'refused', problem: 'a redirect URI is repeated; list each one once' }
  }
  return { kind: 'form', form: { name, kind: asked.kind, redirectUris: asked.redirectUris } }
}

/** Returns why a name is refused. It may have `clientNameCharacters`, 100 code points. */
function refuseName(name: string): string | undefined {
  if (name.trim() === '' || [...name].length > requestLimits.clientNameCharacters)
    return `the name must have 1 to ${requestLimits.clientNameCharacters} characters`
  return hasInvisible(name) || !isStorable(name)
    ? 'the name must not have control, bidi or zero-width characters'
    : undefined
}
