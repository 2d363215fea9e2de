// Checked by the compiler only: a line under `@ts-expect-error` that compiles is an error.
import { type AccessTokenSource, type AuthConfig, createBearerFetch, createSession, type Session } from 'agent-auth'

declare const config: AuthConfig
declare const session: Session

const baseUrl = 'https://api.example.com'

/** A bearer fetch stands wherever a fetch does. */
export const asFetch: typeof fetch = createBearerFetch(session, { baseUrl })
export const asOption: { fetch?: typeof fetch } = { fetch: createBearerFetch('token', { origins: [baseUrl] }) }
export const asFetchOfAnother: typeof fetch = createBearerFetch(session, { baseUrl, fetch: asFetch })

/** A session is a source, and so is anything with that one method. */
export const sources: AccessTokenSource[] = [
  session,
  createSession(config),
  { getAccessToken: async () => 'token' },
  {
    getAccessToken: async ({ rejected, minValidMs, forceRefresh, signal } = {}) =>
      `${rejected}${minValidMs}${forceRefresh}${signal}`,
  },
]

/** The scope is one of the two. */
export const scoped: (typeof fetch)[] = [
  createBearerFetch(session, { baseUrl }),
  createBearerFetch(session, { origins: [baseUrl, 'http://localhost:3000'] }),
  createBearerFetch(session, { baseUrl, elsewhere: 'reject' }),
  // @ts-expect-error: both
  createBearerFetch(session, { baseUrl, origins: [baseUrl] }),
  // @ts-expect-error: neither
  createBearerFetch(session, {}),
  // @ts-expect-error: no options at all
  createBearerFetch(session),
  // @ts-expect-error: origins is a list
  createBearerFetch(session, { origins: baseUrl }),
  // @ts-expect-error: there is no such behaviour
  createBearerFetch(session, { baseUrl, elsewhere: 'redirect' }),
  // @ts-expect-error: the token has no other place to go
  createBearerFetch(session, { baseUrl, tokenIn: 'query' }),
]

export const notSources: AccessTokenSource[] = [
  // @ts-expect-error: the method is missing
  {},
  // @ts-expect-error: a promise is needed
  { getAccessToken: () => 'token' },
  // @ts-expect-error: a token is text
  { getAccessToken: async () => undefined },
  // @ts-expect-error: the options come from the caller, which knows only these
  { getAccessToken: async (options: { audience: string }) => options.audience },
]

export async function asksForToken(): Promise<string> {
  await session.getAccessToken({ rejected: 'token', minValidMs: 1_000, forceRefresh: true, signal: null })
  // @ts-expect-error: seconds are not an option
  await session.getAccessToken({ minValidS: 1 })
  // @ts-expect-error: not a source and not a token
  createBearerFetch(undefined, { baseUrl })
  return session.getAccessToken()
}
