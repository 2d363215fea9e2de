import type * as library from '../../src/index.ts'

export type Library = Pick<typeof library, 'createAuthConfig' | 'createBearerFetch' | 'createSession'>

/** Sends one of the URLs. */
export type Call = (url: string) => Promise<unknown>

export const accessToken = 'bench-access-token'
const init: RequestInit = {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json' },
  body: '{"page":1}',
}

/** Called in turn, as an app does: a single URL would favor whatever remembers the last one. */
export function urlsUnder(baseUrl: string): string[] {
  return Array.from({ length: 16 }, (_, index) => `${baseUrl}/v1/parent-agents/${index}?page=${index}`)
}

/** The same call by hand and through the bearer fetch, with a URL and settings. */
export async function textCalls(
  library: Library,
  baseUrl: string,
  send: typeof fetch,
): Promise<{ hand: Call; bearer: Call }> {
  const bearerFetch = library.createBearerFetch(await signedIn(library, baseUrl), { baseUrl, fetch: send })
  return {
    hand(url) {
      const headers = new Headers(init.headers)
      headers.set('authorization', `Bearer ${accessToken}`)
      return send(url, { ...init, headers })
    },
    bearer: (url) => bearerFetch(url, init),
  }
}

/** The same call by hand and through the bearer fetch, with a Request made beforehand: making one is not measured. */
export async function requestCalls(
  library: Library,
  baseUrl: string,
  send: typeof fetch,
): Promise<{ hand: Call; bearer: Call }> {
  const bearerFetch = library.createBearerFetch(await signedIn(library, baseUrl), { baseUrl, fetch: send })
  const requests = new Map(urlsUnder(baseUrl).map((url) => [url, new Request(url, { headers: { accept: '*/*' } })]))
  const requestOf = (url: string): Request => requests.get(url) as Request
  return {
    hand(url) {
      const request = requestOf(url)
      const headers = new Headers(request.headers)
      headers.set('authorization', `Bearer ${accessToken}`)
      return send(request, { headers })
    },
    bearer: (url) => bearerFetch(requestOf(url)),
  }
}

async function signedIn(library: Library, baseUrl: string): Promise<ReturnType<Library['createSession']>> {
  const session = library.createSession(
    library.createAuthConfig({
      authUrl: 'https://auth.example.com',
      baseUrl,
      clientId: 'app',
      redirectUri: 'https://app.example.com/callback',
    }),
  )
  const now = Date.now()
  await session.signIn({
    accessToken,
    refreshToken: 'bench-refresh-token',
    obtainedAtMs: now,
    expiresAtMs: now + 3_600_000,
  })
  return session
}
