import { startLogin } from '../authorize.ts'
import { createBearerFetch } from '../bearer.ts'
import { acceptCallback } from '../callback.ts'
import { type AuthConfig, type AuthConfigOptions, createAuthConfig } from '../config.ts'
import { exchangeCode } from '../exchange.ts'
import type { Clock } from '../internal/clock.ts'
import { checkNames, checkOneOf, invalid } from '../internal/values.ts'
import { createSession, type Session } from '../session.ts'
import type { TokenStorage } from '../storage/token-storage.ts'
import type { Tokens } from '../tokens.ts'
import { type RunningService, type ServiceTransport, startAgentService } from './agent-service.ts'
import { type HeldRequests, type RequestGate, requestGate } from './hold.ts'

/** The options of `testService`. */
export interface TestServiceOptions {
  /** Registers a function that closes the service: `afterAll` of Vitest and Jest, `after` of node:test, or `onTestFinished`. */
  readonly after?: ((close: () => Promise<void>) => unknown) | undefined
  /** How requests reach the service: in this process, or over two ports on `loopback`, for browsers. Default: `in-process`. */
  readonly transport?: ServiceTransport | undefined
  /** The client of the session. Default: `public`. */
  readonly client?: 'public' | 'confidential' | undefined
  /** The email address of the user who is signed in. Default: the first user of the service. */
  readonly email?: string | undefined
  /** Stores the session. Default: memory. */
  readonly storage?: TokenStorage | undefined
  /** The options of agent-service, such as `seed` and `redirectUris`. */
  readonly service?: object | undefined
}

/** The options of an app that is tested against the service, for `createAuthConfig`, `createBrowserAuth` and `createBackend`. */
export interface TestAppOptions extends Pick<AuthConfigOptions, 'authUrl' | 'baseUrl' | 'clientId' | 'redirectUri'> {
  /** The secret of the client, if it is confidential. */
  readonly clientSecret?: string | undefined
  /** Sends requests to the service, without a port if the transport is `in-process`. */
  readonly fetch: typeof fetch
  /** The clock of the service. */
  readonly clock: Clock
}

/** A service for tests, and a user who is signed in to it. */
export interface TestService extends Pick<RunningService, 'authUrl' | 'baseUrl' | 'people' | 'clients' | 'dev'> {
  /** The email address of the user who is signed in. */
  readonly email: string
  /** The options for the app under test. */
  readonly options: TestAppOptions
  /** The configuration of these options. */
  readonly config: AuthConfig
  /** A session that is signed in. */
  readonly session: Session
  /** The bearer fetch of the session. Paths are relative to `baseUrl`. */
  readonly fetch: typeof fetch
  /** Sends a request to the service without a token. The same as `options.fetch`. */
  readonly send: typeof fetch
  /** The clock of the service, of the configuration and of the session. */
  readonly clock: Clock
  /** Lets time pass for the service, the configuration and the session, in milliseconds. */
  advance(ms: number): void
  /** Runs the login flow without pages, and returns the tokens of a new sign-in. Default: the user of `email`. */
  login(email?: string): Promise<Tokens>
  /** Replaces the session by a new sign-in. Default: the user of `email`. */
  signIn(email?: string): Promise<void>
  /**
   * Runs a task while the service signs this user in without pages, so that a click on "Sign in" in a browser is a whole login. Tasks
   * run one after another, also those of `login`.
   */
  approving<T>(email: string, task: () => Promise<T>): Promise<T>
  /** Runs a task like `approving`, but this user denies: a login ends with `login_denied`. */
  denying<T>(email: string, task: () => Promise<T>): Promise<T>
  /** Holds the requests of `options.fetch` whose path begins with `path`, until they are released. Throws `config_invalid`. */
  hold(path: string): HeldRequests
  /** Stops the service. */
  close(): Promise<void>
}

const optionNames: readonly string[] = ['after', 'transport', 'client', 'email', 'storage', 'service']

/**
 * Starts agent-service, which must be installed, and signs a user in. Service, configuration and session have one clock. Rejects
 * with `config_invalid`.
 */
export async function testService(options: TestServiceOptions = {}): Promise<TestService> {
  const own = checkNames('testService', options, optionNames)
  const { after, transport = 'in-process' } = own
  checkOneOf('transport', transport, ['in-process', 'loopback'])
  const running = await startAgentService(transport, own.service ?? {})
  try {
    const service = await signedInService(running, own)
    await after?.(service.close)
    return service
  } catch (error) {
    await running.close()
    throw error
  }
}

async function signedInService(running: RunningService, options: TestServiceOptions): Promise<TestService> {
  const { authUrl, baseUrl, people, dev } = running
  const { email: usual = people[0]?.email ?? '', storage, transport } = options
  const gates: RequestGate[] = []
  const send: typeof fetch = async (input, init) => {
    for (const gate of gates) await gate.passes(input, init)
    return transport === 'loopback' ? fetch(input, init) : running.fetch(input, init)
  }
  const clock: Clock = { wallMs: () => dev.nowMs(), monotonicMs: () => dev.nowMs() }
  const authOptions: TestAppOptions = { authUrl, baseUrl, ...clientOf(running, options, usual), fetch: send, clock }
  const config = createAuthConfig(authOptions)
  const session = createSession(config, { storage })
  const deciding = decisions(dev)
  const approving: TestService['approving'] = (email, task) => deciding('autoApprove', email, task)
  const login = (email: string = usual): Promise<Tokens> =>
    loginWithoutPages(config, (url) => approving(email, () => running.fetch(url, { redirect: 'manual' })))
  const signIn = async (email?: string): Promise<void> => session.signIn(await login(email))
  await signIn()
  return {
    ...running,
    email: usual,
    options: authOptions,
    ...{ config, session, send, clock, login, signIn, approving },
    denying: (email, task) => deciding('autoDeny', email, task),
    fetch: createBearerFetch(session, { baseUrl, fetch: send }),
    advance: (ms) => dev.advance(ms),
    hold(path) {
      const gate = requestGate(path)
      gates.push(gate)
      return { arrived: gate.arrived, release: gate.release }
    },
    close: () => running.close(),
  }
}

type ClientOptions = Pick<AuthConfigOptions, 'clientId' | 'clientSecret' | 'redirectUri'>

/** Returns the first client of this kind in the tenant of the user. */
function clientOf({ people, clients }: RunningService, options: TestServiceOptions, email: string): ClientOptions {
  const user = people.find((person) => person.email === email)
  if (!user) invalid('email is no user of the service. Its users are in the option service.seed')
  const { client: kind = 'public' } = options
  const client = clients.find((each) => each.kind === kind && each.tenant === user.tenant)
  const redirectUri = client?.redirectUris[0]
  if (!client || !redirectUri)
    invalid(`the service has no ${kind} client with a redirect URI in the tenant of this user`)
  return { clientId: client.clientId, clientSecret: client.clientSecret, redirectUri }
}

/** Gets tokens by the login flow of the library. `authorize` requests the URL and follows no redirect. */
async function loginWithoutPages(config: AuthConfig, authorize: (url: URL) => Promise<Response>): Promise<Tokens> {
  const { url, pending } = await startLogin(config)
  const response = await authorize(url)
  const callback = response.headers.get('location')
  if (!callback) invalid(`the service refused to sign in this user: it responded with ${response.status}`)
  return exchangeCode(config, acceptCallback(pending, callback, config.clock.wallMs()))
}

/** Lets one task at a time decide, because the service has one user for automatic decisions. */
function decisions(dev: RunningService['dev']) {
  let latest: Promise<unknown> = Promise.resolve()
  return <T>(decide: 'autoApprove' | 'autoDeny', email: string, task: () => Promise<T>): Promise<T> => {
    const decided = async (): Promise<T> => {
      const before = dev.autoApproved()
      dev[decide](email)
      try {
        return await task()
      } finally {
        dev.autoApprove(before)
      }
    }
    const result = latest.then(decided)
    latest = result.catch(() => {})
    return result
  }
}
