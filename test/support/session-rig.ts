import {
  type AuthConfig,
  type AuthConfigOptions,
  type AuthEvent,
  type Clock,
  createAuthConfig,
  createSession,
  type Session,
  type TokenStorage,
} from 'agent-auth'
import { testClock } from './clock.ts'
import { type TokenService, type TokenServiceOptions, tokenService } from './token-service.ts'

/** A session in a realm of its own: its own configuration, events and listeners. */
export interface Realm {
  readonly session: Session
  readonly config: AuthConfig
  readonly events: AuthEvent[]
  /** The events of one type, in order. */
  eventsOf<T extends AuthEvent['type']>(type: T): Extract<AuthEvent, { type: T }>[]
  /** `status` or `status reason` at each call of a listener. */
  readonly told: string[]
}

export interface RealmInput {
  readonly storage?: TokenStorage
  readonly key?: string
  readonly clientId?: string
  /** Further members of this realm's configuration. */
  readonly options?: Partial<AuthConfigOptions>
}

export interface SessionRig<C extends Clock> {
  readonly clock: C
  readonly service: TokenService
  realm(input?: RealmInput): Realm
}

/** Sessions against one token service on one clock. */
export function sessionRig<C extends Clock>(clock: C, options?: TokenServiceOptions): SessionRig<C>
export function sessionRig(clock?: undefined, options?: TokenServiceOptions): SessionRig<ReturnType<typeof testClock>>
export function sessionRig(clock: Clock = testClock(), options: TokenServiceOptions = {}): SessionRig<Clock> {
  const service = tokenService({ wallMs: () => clock.wallMs(), ...options })
  return {
    clock,
    service,
    realm({ clientId = 'app', options: more = {}, ...session } = {}) {
      const events: AuthEvent[] = []
      const config = createAuthConfig({
        authUrl: 'https://auth.example.com',
        baseUrl: 'https://api.example.com',
        clientId,
        redirectUri: 'https://app.example.com/callback',
        fetch: service.fetch,
        clock,
        onEvent: (event) => events.push(event),
        ...more,
      })
      return realmOf(config, createSession(config, session), events)
    },
  }
}

function realmOf(config: AuthConfig, session: Session, events: AuthEvent[]): Realm {
  const told: string[] = []
  session.subscribe(() => {
    const { status, reason } = session.state
    told.push(reason ? `${status} ${reason}` : status)
  })
  return {
    session,
    config,
    events,
    told,
    eventsOf<T extends AuthEvent['type']>(type: T) {
      return events.filter((event): event is Extract<AuthEvent, { type: T }> => event.type === type)
    },
  }
}

/** The code a promise rejects with, or what it resolved to instead. */
export async function codeOf(work: Promise<unknown>): Promise<unknown> {
  try {
    return { resolved: await work }
  } catch (error) {
    return (error as { code?: unknown }).code ?? error
  }
}
