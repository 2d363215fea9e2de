import {
  type AuthConfig,
  type AuthConfigOptions,
  createAuthConfig,
  createSession,
  memoryStorage,
  type Session,
  type Tokens,
} from 'agent-auth'
import { secret } from './canary.ts'
import { type TestClock, testClock } from './clock.ts'

export const baseUrl = 'https://api.example.com/v1'
export const authUrl = 'https://auth.example.com'

export interface SignedInOptions {
  /** Makes each access token; 0 is that of the sign-in. Default: marked secrets. */
  readonly token?: (issue: number) => string
  /** Seconds each access token lives. Default 3,600; nothing means that its life is unknown. */
  readonly lifeS?: number | undefined
  /** `no` signs in without a refresh token. Default `yes`. */
  readonly refreshable?: 'yes' | 'no'
  /** Runs before the token endpoint answers; what it returns is the answer. Counts from 1. */
  readonly onRefresh?: (refresh: number) => Promise<Response | undefined>
  readonly config?: Partial<AuthConfigOptions>
}

/** A real session, signed in, whose token endpoint is scripted. */
export interface SignedIn {
  readonly session: Session
  readonly config: AuthConfig
  readonly clock: TestClock
  /** Every access token issued, in order; the first is that of the sign-in. */
  readonly issued: readonly string[]
  /** How many token requests were sent. */
  readonly refreshes: number
  /** Signs another person in, in the place of whoever is there, and resolves to the access token. */
  signInAnother(): Promise<string>
}

export async function signedIn(options: SignedInOptions = {}): Promise<SignedIn> {
  const { token = (issue) => secret(`access token ${issue}`), refreshable = 'yes', onRefresh } = options
  const lifeS = 'lifeS' in options ? options.lifeS : 3_600
  const clock = testClock()
  const issued: string[] = []
  let refreshes = 0
  const issue = (): string => {
    const accessToken = token(issued.length)
    issued.push(accessToken)
    return accessToken
  }
  const tokenEndpoint = async (): Promise<Response> => {
    refreshes += 1
    const answer = await onRefresh?.(refreshes)
    return answer ?? Response.json({ access_token: issue(), ...(lifeS && { expires_in: lifeS }) })
  }
  const config = createAuthConfig({
    authUrl,
    baseUrl,
    clientId: 'app',
    redirectUri: 'https://app.example.com/callback',
    clock,
    fetch: tokenEndpoint,
    ...options.config,
  })
  const session = createSession(config, { storage: memoryStorage() })
  const signIn = async (refreshToken: string): Promise<string> => {
    const obtainedAtMs = clock.wallMs()
    const tokens: Tokens = {
      accessToken: issue(),
      obtainedAtMs,
      ...(lifeS && { expiresAtMs: obtainedAtMs + lifeS * 1_000 }),
      ...(refreshable === 'yes' && { refreshToken }),
    }
    await session.signIn(tokens)
    return tokens.accessToken
  }
  await signIn('refresh-token')
  return {
    session,
    config,
    clock,
    issued,
    get refreshes() {
      return refreshes
    },
    signInAnother: () => signIn('refresh-token-of-another-person'),
  }
}
