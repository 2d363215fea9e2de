import { asShipped } from './as-shipped.ts'
import type * as Measured from './measured.ts'

export interface Person {
  readonly headers: Readonly<Record<string, string>>
  /** Of the record in the storage. */
  readonly name: string
}

export interface SignedIn {
  readonly backend: ReturnType<typeof Measured.createBackend>
  readonly sessions: Measured.TokenStorage
  readonly people: readonly Person[]
  /** Makes another backend with the same options, which has no session in memory. */
  another(): ReturnType<typeof Measured.createBackend>
}

const part = (length: number): string => Buffer.from(JSON.stringify({ sub: 'x'.repeat(length) })).toString('base64url')
/** As long as that of a service, and a JWT, which a backend may read. */
const accessToken = [part(20), part(300), 's'.repeat(342)].join('.')

/** A backend as it ships, and people who are signed in to it. */
export async function signedIn(
  count: number,
  baseUrl: string,
  sessionsOf: (measured: typeof Measured) => Measured.TokenStorage,
): Promise<SignedIn> {
  const measured = await asShipped<typeof Measured>('bench/backend/measured.ts')
  const sessions = sessionsOf(measured)
  const client = { authUrl: 'https://auth.example.com', baseUrl, clientId: 'app' }
  const config = measured.createAuthConfig({ ...client, redirectUri: 'http://127.0.0.1/auth/callback' })
  const options: Measured.BackendOptions = {
    ...client,
    redirectUri: config.redirectUri,
    sessions,
    secrets: ['a-secret-of-more-than-32-characters'],
    proxy: ['POST /api/search'],
  }
  const context = measured.backendContext(options)
  const signIn = async (): Promise<Person> => {
    const id = measured.newSessionId(context)
    const key = await measured.sessionKey(context, id)
    const nowMs = Date.now()
    const tokens = { accessToken, obtainedAtMs: nowMs, expiresAtMs: nowMs + 3_600_000 }
    await measured.createSession(config, { storage: sessions, key }).signIn({ ...tokens, refreshToken: 'r'.repeat(60) })
    const cookie = `${context.sessionCookie.name}=${id}`
    const headers = { cookie, 'x-agent-auth': '1', 'sec-fetch-site': 'same-origin' }
    return { headers, name: measured.sessionName(config, key) }
  }
  const people: Person[] = []
  // In steps, because thousands at once take longer than a storage may.
  while (people.length < count)
    people.push(...(await Promise.all(Array.from({ length: Math.min(100, count - people.length) }, signIn))))
  const another = (): SignedIn['backend'] => measured.createBackend(options)
  return { backend: another(), another, sessions, people }
}
