import { type MaybePromise, memoryStorage, type TokenStorage } from 'agent-auth'
import { type Backend, type BackendEvent, type BackendOptions, createBackend } from 'agent-auth/backend'
import { createService, type Service, type ServiceOptions } from 'agent-service'
import { clientOf, personOf } from '../../service/test/support/login.ts'
import { registerSecret } from './canary.ts'
import { type CookieJar, cookieHeader, keepCookies } from './cookie-jar.ts'

export const appOrigin = 'https://app.demo.example'
export const secrets: readonly string[] = ['first-secret-of-this-test-0123456789']
export const guard: Readonly<Record<string, string>> = { 'x-agent-auth': '1', 'sec-fetch-site': 'same-origin' }
export const searchPath = '/api/llm_models/search'
export const routes: readonly string[] = [
  `POST ${searchPath}`,
  'POST /api/parent_agents',
  'GET /api/parent_agents/:id/state_function/context_variables',
]

export interface BackendRig {
  readonly service: Service
  readonly backend: Backend
  readonly options: BackendOptions
  readonly sessions: TokenStorage
  readonly events: BackendEvent[]
  /** Every request that reached the service, in order. */
  readonly sent: Sent[]
  /** Creates another process over the same storage, or another configuration. */
  another(changes?: Partial<BackendOptions>): Backend
  browser(backend?: Backend): AppBrowser
  close(): Promise<void>
}

export interface Sent {
  readonly url: string
  readonly method: string
  readonly headers: Headers
}

export interface RigOptions {
  /** Responds instead of the service's API. */
  readonly api?: (request: Request) => MaybePromise<Response>
  readonly service?: ServiceOptions
  readonly backend?: Partial<BackendOptions>
  /** Makes a service without options. Default: starts one. */
  readonly start?: (redirectUri: string) => Promise<Service>
}

/** Creates a backend in front of a real service, both in this process. */
export async function backendRig({
  api,
  service: serviceOptions,
  backend: changes = {},
  start = (redirectUri) => createService({ redirectUris: [redirectUri] }),
}: RigOptions = {}): Promise<BackendRig> {
  const redirectUri = changes.redirectUri ?? `${appOrigin}/auth/callback`
  const service = serviceOptions
    ? await createService({ redirectUris: [redirectUri], ...serviceOptions })
    : await start(redirectUri)
  service.dev.autoApprove(personOf(service, 'ada').email)
  const { clientId, clientSecret } = clientOf(service, 'Demo confidential')
  if (clientSecret) registerSecret('client secret', clientSecret)
  const events: BackendEvent[] = []
  const sent: Sent[] = []
  const options: BackendOptions = {
    authUrl: service.authUrl,
    baseUrl: service.baseUrl,
    clientId,
    clientSecret,
    redirectUri,
    sessions: memoryStorage(),
    secrets,
    proxy: routes,
    onEvent: (event) => events.push(event),
    fetch: (input, init) => {
      const request = input instanceof Request ? input : undefined
      sent.push({
        url: request?.url ?? String(input),
        method: init?.method ?? request?.method ?? 'GET',
        headers: new Headers(init?.headers ?? request?.headers),
      })
      const { url } = sent.at(-1) ?? {}
      return api && url?.startsWith(service.baseUrl)
        ? reached(api, new Request(input, init))
        : service.fetch(input, init)
    },
    ...changes,
  }
  const backend = createBackend(options)
  return {
    service,
    backend,
    options,
    sessions: options.sessions,
    events,
    sent,
    another: (more = {}) => createBackend({ ...options, ...more }),
    browser: (other = backend) => new AppBrowser(service, other, redirectUri),
    close: () => service.close(),
  }
}

/** As over a socket: an aborted request does not wait for the response. */
async function reached(api: (request: Request) => MaybePromise<Response>, request: Request): Promise<Response> {
  request.signal.throwIfAborted()
  const answer = api(request)
  const aborted = new Promise<never>((_, reject) => {
    request.signal.addEventListener('abort', () => reject(request.signal.reason))
  })
  return Promise.race([answer, aborted])
}

/** The browser of a user: it keeps cookies and applies `SameSite`. */
export class AppBrowser {
  readonly cookies: CookieJar = new Map()
  /** Every `Set-Cookie` line, in order. */
  readonly lines: string[] = []
  readonly #service: Pick<Service, 'fetch'>
  readonly #backend: Backend
  readonly #origin: string

  constructor(service: Pick<Service, 'fetch'>, backend: Backend, redirectUri: string) {
    this.#service = service
    this.#backend = backend
    this.#origin = new URL(redirectUri).origin
  }

  /** Sends a request to the backend. `from` is the site that starts it. */
  async send(path: string, init: RequestInit = {}, from: 'same-site' | 'cross-site' = 'same-site'): Promise<Response> {
    const request = this.request(path, init, from)
    const response = await this.#backend.handle(request)
    if (!response) throw new Error(`Nothing is served at ${path}.`)
    this.lines.push(...keepCookies(this.cookies, response))
    return response
  }

  request(path: string, init: RequestInit = {}, from: 'same-site' | 'cross-site' = 'same-site'): Request {
    const headers = new Headers(init.headers)
    const cookie = this.cookieHeader(from)
    if (cookie) headers.set('cookie', cookie)
    return new Request(new URL(path, this.#origin), { ...init, headers })
  }

  cookieHeader(from: 'same-site' | 'cross-site' = 'same-site'): string {
    return cookieHeader(this.cookies, from)
  }

  /** Runs a login from its route to the URL of the callback. */
  async goToCallback(returnTo = '/agents'): Promise<URL> {
    const path = `/auth/login?return_to=${encodeURIComponent(returnTo)}`
    const started = await this.send(path, { headers: { 'sec-fetch-site': 'same-origin' } })
    const answered = await this.#service.fetch(started.headers.get('location') ?? '', { redirect: 'manual' })
    return new URL(answered.headers.get('location') ?? '')
  }

  /** Runs a complete login, whose callback another site starts. */
  async logIn(returnTo?: string): Promise<Response> {
    const { pathname, search } = await this.goToCallback(returnTo)
    return this.send(pathname + search, {}, 'cross-site')
  }

  /** Calls the API as a page of the app does. */
  call(path: string = searchPath, init: RequestInit = {}): Promise<Response> {
    const body = JSON.stringify({ limit: 1, offset: 0 })
    const headers = { ...guard, 'content-type': 'application/json', ...(init.headers as Record<string, string>) }
    return this.send(path, { method: 'POST', body, ...init, headers })
  }

  logOut(): Promise<Response> {
    return this.send('/auth/logout', { method: 'POST', headers: guard })
  }

  async status(): Promise<string> {
    const response = await this.send('/auth/session')
    return ((await response.json()) as { status: string }).status
  }

  cookie(part: string): string | undefined {
    return [...this.cookies].find(([name]) => name.includes(part))?.[1].value
  }

  setCookie(name: string, value: string, sameSite = 'Strict'): void {
    this.cookies.set(name, { value, sameSite })
  }

  /** Returns the name and value of the session cookie. */
  session(): [name: string, value: string] {
    const found = [...this.cookies].find(([name]) => !name.includes('-login-'))
    if (!found) throw new Error('There is no session cookie.')
    return [found[0], found[1].value]
  }
}

/** What a refusal of the backend says. */
export async function statusAndCode(response: Response): Promise<{ status: number; code: string }> {
  return { status: response.status, code: ((await response.json()) as { code: string }).code }
}

/** Runs before an operation of the storage, and may throw. */
export type Step = (operation: 'getItem' | 'setItem' | 'removeItem' | 'withLock', name: string) => MaybePromise<void>

/** Returns a storage that runs a step before each operation. */
export function steppedStorage(step: Step, inner: TokenStorage = memoryStorage()): TokenStorage {
  return {
    async getItem(name) {
      await step('getItem', name)
      return inner.getItem(name)
    },
    async setItem(name, value) {
      await step('setItem', name)
      await inner.setItem(name, value)
    },
    async removeItem(name) {
      await step('removeItem', name)
      await inner.removeItem(name)
    },
    async withLock(name, task, options) {
      await step('withLock', name)
      if (!inner.withLock) throw new Error('The inner storage has no lock.')
      return inner.withLock(name, task, options)
    },
  }
}
