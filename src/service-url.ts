import { attempt, invalid } from './internal/values.ts'

/**
 * Returns the text unchanged if it is an https URL, or http on loopback, without fragment, user info and query. A redirect URI may
 * have a query. Outside of a browser, `httpHosts` may have http as well. Throws `config_invalid`, which does not quote the value.
 */
export function checkServiceUrl(name: string, value: unknown, httpHosts?: readonly string[]): string {
  const text = typeof value === 'string' ? value : ''
  // Checks the text, because the parser removes white space and an empty query, fragment or user info.
  const isRedirect = name === 'redirectUri'
  const forbidden = isRedirect ? /[\s\p{Cc}#\\]|^[^?]*\/\/[^/?]*@/u : /[\s\p{Cc}?#\\]|\/\/[^/]*@/u
  const url = attempt(() => new URL(text))
  const { protocol, hostname = '' } = url ?? {}
  const mayHaveHttp = protocol === 'http:' && !isRedirect && !isBrowser()
  // No URL of a request is under such a path, because a server may read it as two.
  if (name === 'baseUrl' && /%(2f|5c)/i.test(text)) invalid('baseUrl must not have an encoded slash')
  const secure = protocol === 'https:' || isLoopback(hostname) || (mayHaveHttp && [httpHosts].flat().includes(hostname))
  if (secure && /^https?:\/\/[^/]/i.test(text) && !forbidden.test(text)) return text
  const parts = isRedirect ? 'user info' : 'user info, query'
  const hosts = mayHaveHttp ? ' or at a host of allowHttpHosts' : ''
  const form = `must be an https URL, or http on loopback${hosts}, without ${parts} or fragment`
  invalid(`${name} ${text ? form : 'is missing'}`)
}

/** Returns whether this is a page or a worker of a browser. */
export function isBrowser(): boolean {
  // Cloudflare Workers of an old date have `importScripts`, and no address.
  return 'document' in globalThis || ('importScripts' in globalThis && 'location' in globalThis)
}

export function isLoopback(hostname: string): boolean {
  return /^(localhost|127\.0\.0\.1|\[::1])$/.test(hostname)
}

/**
 * Throws `config_invalid` if the URLs of the API would hold `/api` twice. A config with such a `baseUrl` is valid. What adds
 * paths to it checks it.
 */
export function checkApiUrl(baseUrl: string): void {
  if (/[^/]\/api\/*$/.test(baseUrl)) invalid('baseUrl must not end in /api, which its paths begin with')
}
