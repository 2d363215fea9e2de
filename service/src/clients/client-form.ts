import { hasInvisible, isStorable } from '../api/characters.ts'
import { requestLimits } from '../limits.ts'
import { refuseRedirectUri, refuseRegistration } from '../redirect-uris.ts'

export interface ClientForm {
  name: string
  kind: 'public' | 'confidential'
  redirectUris: string[]
}

export type RefusedForm = { kind: 'refused'; problem: string; path: readonly (string | number)[] }

/** Reads the form of a new client, or returns why and where it is refused. Nothing lets an admin choose an id (S-059). */
export function readClientForm(asked: {
  name: string
  kind: string
  redirectUris: string[]
}): { kind: 'form'; form: ClientForm } | RefusedForm {
  const { name, kind, redirectUris } = asked
  const badName = refuseName(name)
  if (badName !== undefined) return { kind: 'refused', problem: badName, path: ['name'] }
  const badUris = refuseRegistration(redirectUris)
  if (badUris !== undefined) {
    const index = redirectUris.findIndex((uri) => refuseRedirectUri(uri) === badUris)
    return { kind: 'refused', problem: badUris, path: index === -1 ? ['redirectUris'] : ['redirectUris', index] }
  }
  if (kind !== 'public' && kind !== 'confidential') {
    return { kind: 'refused', problem: 'the kind must be public or confidential', path: ['kind'] }
  }
  const repeated = redirectUris.findIndex((uri, index) => redirectUris.indexOf(uri) < index)
  if (repeated !== -1) {
    const problem = 'a redirect URI is repeated; list each one once'
    return { kind: 'refused', problem, path: ['redirectUris', repeated] }
  }
  return { kind: 'form', form: { name, kind, redirectUris } }
}

/** Returns why a name is refused. It may have `clientNameCharacters`, 100 code points. */
function refuseName(name: string): string | undefined {
  if (name.trim() === '' || [...name].length > requestLimits.clientNameCharacters)
    return `the name must have 1 to ${requestLimits.clientNameCharacters} characters`
  return hasInvisible(name) || !isStorable(name)
    ? 'the name must not have control, bidi or zero-width characters'
    : undefined
}
