import { createBearerFetch } from '../../bearer.ts'
import { invalid } from '../../config/invalid.ts'
import type { AccessTokenSource, GetAccessTokenOptions } from '../../session.ts'
import { findSession } from '../cookies/session-cookie.ts'
import type { BackendContext } from '../options.ts'

/** A request's headers, or the key of a session for work without a request. */
/** A request, or the key of a session that your own code keeps. */
export type SessionSource =
  /** `headers`: of the request, with its cookies. */
  | { readonly headers: Headers }
  /** `key`: of a session that your own code signed in. */
  | { readonly key: string }

/** Somebody's session in server code. It holds no tokens: each call asks the session as it stands then. */
export interface SignedInSession extends AccessTokenSource {
  /** `needs_refresh`: the access token has ended, and the next call renews it first. Reading the state sends nothing. */
  readonly status: 'signed-in' | 'needs_refresh'
  /** Names the session for later work without a request; no cookie can be made from it. */
  readonly key: string
  /** Calls the API under `baseUrl` as this person; rejects with `origin_forbidden` for anything else. */
  readonly fetch: typeof fetch
  /** Returns a usable access token, and rejects as `getAccessToken` of a session does. */
  getAccessToken(options?: GetAccessTokenOptions): Promise<string>
  /** Ends the session everywhere. */
  signOut(): Promise<void>
}

/** The session of a request, or that there is none. */
export type BackendSession = SignedInSession | { readonly status: 'signed-out' }

export async function getSession(context: BackendContext, source: SessionSource): Promise<BackendSession> {
  if (!isObject(source) || !('key' in source)) {
    const problem = requestProblem('getSession', source)
    if (problem) invalid(problem)
  }
  const key = 'key' in source ? source.key : (await findSession(context, source)).key
  const state = key === undefined ? undefined : await context.live.use(key, ({ session }) => session.ready())
  if (key === undefined || state?.status !== 'signed-in') return { status: 'signed-out' }
  const { expiresAtMs = Number.POSITIVE_INFINITY } = state
  const tokens = tokensOf(context, key)
  let send: typeof fetch | undefined
  return {
    status: context.config.clock.wallMs() < expiresAtMs ? 'signed-in' : 'needs_refresh',
    key,
    // Made when it is needed: many only ask who somebody is.
    fetch(input, init) {
      send ??= apiFetch(context, tokens)
      return send(input, init)
    },
    ...tokens,
    signOut: () => context.live.use(key, ({ session }) => session.signOut()),
  }
}

/** Returns what is wrong with a request object of Node, Express or Fastify, whose headers are a plain object. */
export function requestProblem(name: string, source: unknown): string | undefined {
  const headers = isObject(source) && 'headers' in source ? source.headers : undefined
  if (isObject(headers) && 'get' in headers) return undefined
  return `${name} needs a Request of the Fetch API. For node:http, Express or Fastify, see docs/backend.md`
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function tokensOf({ live }: BackendContext, key: string): AccessTokenSource {
  return { getAccessToken: (options) => live.use(key, ({ session }) => session.getAccessToken(options)) }
}

/** A fetch for the API and nothing else. */
export function apiFetch({ config, apiFetch }: BackendContext, source: AccessTokenSource): typeof fetch {
  return createBearerFetch(source, { baseUrl: config.baseUrl, fetch: apiFetch, elsewhere: 'reject' })
}
