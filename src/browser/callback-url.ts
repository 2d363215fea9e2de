import { attempt } from '../internal/attempt.ts'

/** Marks the logins of this entry, so that a page knows its own callbacks, and a popup itself, by the address alone. */
export type LoginMode = 'redirect' | 'popup'

const marks = { redirect: 'r.', popup: 'p.' } as const

/** The state of a login: its mode and 32 random bytes. */
export function markedState(mode: LoginMode, random: string): string {
  return marks[mode] + random
}

/** How the login began that this address ends, or undefined when the address is not a callback of ours. */
export function callbackMode(redirectUri: string, address: string | URL): LoginMode | undefined {
  const expected = new URL(redirectUri)
  const url = attempt(() => new URL(address, expected))
  if (url?.origin !== expected.origin || url.pathname !== expected.pathname) return undefined
  const { searchParams } = url
  const [, mark] = /^([rp])\.[\w-]{43}$/.exec(searchParams.get('state') ?? '') ?? []
  if (!mark || !(searchParams.get('code') || searchParams.get('error'))) return undefined
  return mark === 'p' ? 'popup' : 'redirect'
}

/** Takes the protocol's parameters out of the address bar; other parameters, the hash and the history state stay. */
export function hideCallback(): void {
  const { pathname, search, hash } = location
  const ours = /^(code|state|error|error_description|error_uri|iss|scope|session_state)(=|$)/
  const rest = search
    .slice(1)
    .split('&')
    .filter((parameter) => !ours.test(parameter))
  const query = rest.join('&')
  history.replaceState(history.state, '', pathname + (query && `?${query}`) + hash)
}
