import { generateRandomState } from 'oauth4webapi'
import { protocolNames } from '../callback.ts'
import { attempt } from '../internal/values.ts'

/** How a login starts: by a redirect of the page or in a popup. The `state` says it, so that the callback's URL is enough. */
export type LoginMode = 'redirect' | 'popup'

/** Returns the state of a login: its mode, and 32 random bytes. */
export function markedState(mode: LoginMode): string {
  return `${mode}.${generateRandomState()}`
}

/** Returns whether a page is at the redirect URI. Some servers add a slash to the end of its path, or remove it. */
export function isAtRedirectUri(redirectUri: string, address: string | URL): boolean {
  const [expected, url] = [new URL(redirectUri), new URL(address)]
  const path = ({ pathname }: URL): string => pathname.replace(/\/$/, '')
  return url.origin === expected.origin && path(url) === path(expected)
}

/**
 * Returns how the login started whose callback this is, or undefined if it is no callback of this app, such as the `?code=` of
 * another library, whose URL and code stay as they are.
 */
export function callbackMode(redirectUri: string, address: string | URL): LoginMode | undefined {
  const url = attempt(() => new URL(address, redirectUri))
  if (!url || !isAtRedirectUri(redirectUri, url)) return undefined
  const { searchParams } = url
  const [, mode] = /^(redirect|popup)\.[\w-]{43}$/.exec(searchParams.get('state') ?? '') ?? []
  return searchParams.get('code') || searchParams.get('error') ? (mode as LoginMode | undefined) : undefined
}

/** Removes the protocol's parameters from the address bar. Other parameters, the hash and the history state stay as they are. */
export function hideCallback(): void {
  const { pathname, search, hash } = location
  const hidden = [...protocolNames, 'scope', 'session_state']
  const parameters = search.slice(1).split('&')
  const rest = parameters.filter((parameter) => !hidden.includes(parameter.split('=', 1)[0] ?? '')).join('&')
  history.replaceState(history.state, '', pathname + (rest && `?${rest}`) + hash)
}
