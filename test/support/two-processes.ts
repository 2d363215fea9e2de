import { memoryStorage, type TokenStorage } from 'agent-auth'
import type { Backend, BackendOptions } from 'agent-auth/backend'
import { expect } from 'vitest'
import { type AppBrowser, type BackendRig, steppedStorage } from './backend-rig.ts'
import { type TestClock, testClock } from './clock.ts'
import { rigOf } from './rig-of.ts'

const revocationEndpoint = 'https://auth.example.com/revoke'
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

export interface Issuer {
  readonly options: Partial<BackendOptions>
  /** The refresh tokens that the service would accept. */
  readonly live: Set<string>
  /** The subject of the next tokens. Undefined: tokens that are no JWT. */
  subject: string | undefined
  /** Responds to requests to the API. Default: 204. */
  api: ((init: Pick<RequestInit, 'signal'> | undefined) => Response) | undefined
  /** Delays the responses to refreshes. */
  held: Promise<void> | undefined
}

/** A service that issues numbered tokens and revokes them. */
function issuer(): Issuer {
  let issued = 0
  const live = new Set<string>()
  const fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const url = input instanceof Request ? input.url : String(input)
    if (url === revocationEndpoint) {
      live.delete(new URLSearchParams(String(init?.body)).get('token') ?? '')
      return new Response(null)
    }
    if (!url.includes('/token?'))
      return own.api?.(input instanceof Request ? input : init) ?? new Response(null, { status: 204 })
    if (url.includes('=refresh_token')) live.delete(JSON.parse(String(init?.body)).refresh_token)
    const { subject } = own
    const access_token = subject ? `${part({ alg: 'none' })}.${part({ sub: subject, n: ++issued })}.x` : `a-${++issued}`
    const refresh_token = `refresh-${issued}`
    live.add(refresh_token)
    if (url.includes('=refresh_token')) await own.held
    return Response.json({ access_token, refresh_token, expires_in: 600 })
  }
  const own: Issuer = { options: { revocationEndpoint, fetch }, live, subject: 'ada', api: undefined, held: undefined }
  return own
}

export interface TwoProcesses {
  readonly rig: BackendRig
  readonly clock: TestClock
  readonly service: Issuer
  readonly records: Map<string, string>
  /** The names of all writes, in order. */
  readonly written: string[]
  readonly other: Backend
  /** Signs a user in through the first process, and returns a browser at each. */
  signIn(subject?: string, backend?: Backend): Promise<{ here: AppBrowser; there: AppBrowser }>
  /** Writes and removals reject while they `fail`. */
  readonly fault: { writes: 'work' | 'fail' }
}

interface Setting {
  /** How much the wall clock of the other process is ahead. Default 0. */
  readonly skewMs?: number
  /** Of the storage. Records of an asynchronous one are read once a second. Default `asynchronous`. */
  readonly kind?: 'asynchronous' | 'synchronous'
  /** `sessions` replaces the storage, so that `records`, `written` and `fault` have no effect. */
  readonly options?: Partial<BackendOptions>
  /** Wraps the option `fetch`. */
  readonly around?: (send: typeof fetch) => typeof fetch
}

/** Two backends over one storage, in front of a service that revokes. */
export async function twoProcesses({
  skewMs = 0,
  kind = 'asynchronous',
  options = {},
  around = (send) => send,
}: Setting = {}): Promise<TwoProcesses> {
  const clock = testClock(Date.now())
  const otherClock = { wallMs: () => clock.wallMs() + skewMs, monotonicMs: () => clock.monotonicMs() + 5_000 }
  const service = issuer()
  const fault: TwoProcesses['fault'] = { writes: 'work' }
  const records = new Map<string, string>()
  const written: string[] = []
  const fail = (): void => {
    if (fault.writes === 'fail') throw new Error('READONLY')
  }
  const plain: TokenStorage = {
    getItem: (name) => records.get(name),
    setItem(name, value) {
      fail()
      written.push(name)
      records.set(name, value)
    },
    removeItem(name) {
      fail()
      records.delete(name)
    },
    withLock: memoryStorage().withLock as NonNullable<TokenStorage['withLock']>,
  }
  const sessions = kind === 'synchronous' ? plain : steppedStorage(() => {}, plain)
  const { fetch: send = fetch } = service.options
  const rig = await rigOf({ backend: { ...service.options, fetch: around(send), sessions, ...options, clock } })
  const other = rig.another({ clock: otherClock })
  const signIn: TwoProcesses['signIn'] = async (subject = 'ada', backend = rig.backend) => {
    service.subject = subject
    const here = rig.browser(backend)
    const there = rig.browser(backend === other ? rig.backend : other)
    const started = await here.send('/auth/login', { headers: { 'sec-fetch-site': 'same-origin' } })
    const state = new URL(started.headers.get('location') ?? '').searchParams.get('state')
    expect((await here.send(`/auth/callback?code=c&state=${state}`)).status).toBe(200)
    there.setCookie(...here.session())
    return { here, there }
  }
  return { rig, clock, service, records, written, other, signIn, fault }
}

export const statuses = (...browsers: AppBrowser[]): Promise<string[]> =>
  Promise.all(browsers.map((browser) => browser.status()))
