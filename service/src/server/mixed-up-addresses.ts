import type { ServiceContext } from '../context.ts'

type Config = ServiceContext['config']

const loginEndpoint = /\/auth\/v1\/(?:authorize|token)$/
const loginPath = /^\/(?:auth|oauth2?|login|sign-in|consent|\.well-known)(?:\/|$)|\/(?:authorize|token)$/

/** Returns the text for a path of the API, requested at the authorization server. Only dev controls name the other origin (A-52). */
export function apiPathAtAuth({ baseUrl, dev }: Config): string {
  return `this is the authorization server: set baseUrl to the API${dev === 'on' ? `, ${baseUrl}` : ''}`
}

/**
 * Returns the text for a path that belongs to the authorization server, requested at the API, or undefined for any other
 * path. Below `/api` all but the two login endpoints are the API's own, so that the bearer token is checked first (A-52).
 */
export function authPathAtApi(path: string, { authUrl, dev }: Config): string | undefined {
  if (/^\/_dev(?:\/|$)/.test(path)) {
    if (dev === 'on') return `this is the API: the dev controls are at ${authUrl}/_dev`
    return "the dev controls are off, and not on the API; start agent-service with --dev, or startService with dev: 'on'"
  }
  const isOwn = /^\/api(?:\/|$)/.test(path) || !loginPath.test(path)
  if (dev === 'off' || (isOwn && !loginEndpoint.test(path))) return undefined
  return `this is the API: set authUrl to the authorization server, ${authUrl}`
}

/** Returns what to do about an unknown page of the authorization server, as far as its path shows the mistake. */
export function unknownPageFixes(path: string, { authUrl, baseUrl, dev }: Config): readonly string[] {
  if (dev === 'off') return []
  if (loginEndpoint.test(path)) return [`Set authUrl to ${authUrl}, without a path.`]
  if (path === '/openapi.json') return [`It is on the API: ${baseUrl}${path}`]
  if (path.startsWith('/.well-known/')) return [`This service publishes no metadata. ${endpointsAt(authUrl)}`]
  if (loginPath.test(path)) return [endpointsAt(authUrl)]
  return [`The dev controls are at ${authUrl}/_dev, the API is at ${baseUrl}.`]
}

function endpointsAt(authUrl: string): string {
  return `The endpoints are ${authUrl}/auth/v1/authorize and ${authUrl}/auth/v1/token.`
}
