import { type PendingLogin, startLogin } from '../../src/authorize.ts'
import { readCallback } from '../../src/callback.ts'
import { type AuthConfig, type AuthConfigOptions, createAuthConfig } from '../../src/config.ts'
import { type AgentAuthError, isAgentAuthError } from '../../src/errors.ts'
import type { Grant } from '../../src/grant.ts'
import { createTokens, type Tokens } from '../../src/tokens.ts'
import { secret } from './canary.ts'
import { type TestClock, testClock } from './clock.ts'

export const authUrl = 'https://auth.example.com'
export const tokenUrl: string = `${authUrl}/auth/v1/token`
export const redirectUri = 'https://app.example.com/callback'

/** What each request to the token endpoint has. */
export const privateSettings = {
  method: 'POST',
  credentials: 'omit',
  cache: 'no-store',
  redirect: 'manual',
  referrerPolicy: 'no-referrer',
}

/** Complete options of a public client. */
export const plainOptions = { authUrl, baseUrl: 'https://api.example.com', clientId: 'app', redirectUri }

/** The same, with a clock that stands still. */
export function optionsWith(overrides: Partial<AuthConfigOptions> = {}): AuthConfigOptions {
  return { ...plainOptions, clock: testClock(), ...overrides }
}

export function configWith(overrides: Partial<AuthConfigOptions> = {}): AuthConfig {
  return createAuthConfig(optionsWith(overrides))
}

/** The URL a browser comes back to. */
export function callbackUrl(pending: PendingLogin, query: Readonly<Record<string, string>>): string {
  const separator = pending.redirectUri.includes('?') ? '&' : '?'
  return `${pending.redirectUri}${separator}${new URLSearchParams({ ...query, state: pending.state })}`
}

/** A grant as it stands just before the exchange. */
export async function grantFor(config: AuthConfig, code: string = secret('code')): Promise<Grant> {
  const { pending } = await startLogin(config)
  return readCallback(pending, callbackUrl(pending, { code }), { nowMs: config.clock.wallMs() })
}

/** Tokens as they stand just before a refresh. */
export function tokensWith(members: Partial<Tokens> = {}): Tokens {
  const clock: TestClock = testClock()
  const base = { accessToken: secret('old access token'), refreshToken: secret('refresh token') }
  return createTokens({ ...base, obtainedAtMs: clock.wallMs(), expiresAtMs: undefined, scope: undefined, ...members })
}

/** The typed error a call fails with. Success, and an error of any other kind, fail the test. */
export async function failure(call: Promise<unknown> | (() => unknown)): Promise<AgentAuthError> {
  let result: unknown
  try {
    result = await (typeof call === 'function' ? call() : call)
  } catch (error) {
    if (isAgentAuthError(error)) return error
    throw error
  }
  throw new Error(`Expected a failure, got ${String(result)}`)
}

/** A fetch that answers each call with the next result, and keeps what it was called with. */
export function scriptedFetch(...answers: (Response | Error | (() => Response | Promise<Response>))[]): {
  fetch: typeof fetch
  calls: { url: string; init: RequestInit }[]
} {
  const calls: { url: string; init: RequestInit }[] = []
  const scripted: typeof fetch = async (input, init = {}) => {
    const answer = answers[Math.min(calls.length, answers.length - 1)]
    calls.push({ url: String(input), init })
    if (answer === undefined) throw new Error('No request was expected.')
    if (answer instanceof Error) throw answer
    return typeof answer === 'function' ? answer() : answer
  }
  return { fetch: scripted, calls }
}

export function json(body: unknown, init: ResponseInit = {}): Response {
  const headers = { 'content-type': 'application/json' }
  return new Response(typeof body === 'string' ? body : JSON.stringify(body), { ...init, headers })
}
