import { attempt } from '../internal/values.ts'

/** How a login starts: by a redirect of the page or in a popup. The `state` says it, so that the callback's URL is enough. */
export type LoginMode = 'redirect' | 'popup'

const marks = { redirect: 'r.', popup: 'p.' } as const

/** Returns the state of a login: the mark of its mode, and 32 random bytes. */
export function markedState(mode: LoginMode, random: string): string {
  return marks[mode] + random
}

/**
 * Returns how the login started whose callback this is, or undefined if it is no callback of this app, such as the `?code=` of
 * another library. Then `finish` in finish-login.ts leaves the URL and the code alone. Otherwise `readCallback` (callback.ts) checks the
 * callback.
 */
export function callbackMode(redirectUri: string, address: string | URL): LoginMode | undefined {
  const expected = new URL(redirectUri)
  const url = attempt(() => new URL(address, expected))
  if (url?.origin !== expected.origin || url.pathname !== expected.pathname) return undefined
  const { searchParams } = url
  const [, mark] = /^([rp])\.[\w-]{43}$/.exec(searchParams.get('state') ?? '') ?? []
  if (!mark || !(searchParams.get('code') || searchParams.get('error'))) return undefined
  return mark === 'p' ? 'popup' : 'redirect'
}

/**
 * Removes the protocol's parameters from the address bar. Other parameters, the hash and the history state stay as they are.
 * finish-login.ts calls it for a callback of this app only. `finish` calls it before the code is sent, in a prerendered page when that is
 * shown. `discard` calls it at a sign-out or another login.
 */
export function hideCallback(): void {
  const { pathname, search, hash } = location
  const protocolParameter = /^(code|state|error|error_description|error_uri|iss|scope|session_state)(=|$)/
  const rest = search
    .slice(1)
    .split('&')
    .filter((parameter) => !protocolParameter.test(parameter))
    .join('&')
  history.replaceState(history.state, '', pathname + (rest && `?${rest}`) + hash)
}
