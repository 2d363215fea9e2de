import type { AuthConfig } from '../config.ts'
import type { EncryptionKeys } from '../storage/jwe.ts'
import type { CookieKind, PendingLoginCookieKind } from './cookies.ts'
import type { BackendEvent, SetupProblemEvent } from './events.ts'
import type { ProxyRoute } from './proxy/allowed-routes.ts'
import type { PassedHeaders } from './proxy/headers.ts'
import type { LastUses } from './sessions/last-use.ts'
import type { LiveSessions } from './sessions/live-sessions.ts'
import type { Endings } from './sessions/not-before.ts'
import type { LockedStorage } from './sessions/watched-storage.ts'

/** The checked options and the state of one backend. No option of it comes from a request. */
export interface BackendContext {
  readonly config: AuthConfig
  /** Sends the requests to the API. Default: the platform's `fetch`. */
  readonly injectedFetch: typeof fetch | undefined
  /** Shows only the records of sessions that are not over. */
  readonly sessions: LockedStorage
  readonly endings: Endings
  readonly live: LiveSessions
  /** The last uses of the sessions. Undefined if `idleMs` is not set, so that no session ends for lack of use. */
  readonly uses: LastUses | undefined
  readonly pendingLoginKeys: () => Promise<EncryptionKeys>
  readonly basePath: string
  /** The origin of the app. Its pages and this backend are served from it. */
  readonly origin: string
  /** Whether the app is on loopback, where the user is its developer. */
  readonly isLocal: boolean
  readonly params: Readonly<Record<string, string>> | undefined
  readonly routes: readonly ProxyRoute[]
  readonly passedHeaders: PassedHeaders
  readonly maxParallelCalls: number
  readonly sessionCookie: CookieKind
  readonly pendingLoginCookie: PendingLoginCookieKind
  readonly sessionLifeMs: number
  readonly errorPath: string | undefined
  readonly revocationEndpoint: string | undefined
  emit(event: BackendEvent): void
  /** Emits `setup_problem`, once for each problem, and only on loopback: elsewhere a reverse proxy may change host and path. */
  reportSetup(problem: SetupProblemEvent['problem'], message: string): void
}
