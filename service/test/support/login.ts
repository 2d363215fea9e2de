import { createHash, randomBytes } from 'node:crypto'
import { type CookieJar, cookieHeader, keepCookies } from '../../../test/support/cookie-jar.ts'
import type { Client, Person } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase } from '../../src/store/database.ts'

export type Fetch = (input: string, init?: RequestInit) => Promise<Response>

/** What a login needs of a service, in this process or in another. */
export interface Service {
  authUrl: string
  baseUrl: string
  people: Person[]
  clients: Client[]
  fetch: Fetch
}

/** A browser without a screen: keeps cookies, follows our pages by their forms, never a redirect. */
export class Browser {
  readonly #cookies: CookieJar = new Map()
  readonly #fetch: Fetch

  constructor(fetch: Fetch) {
    this.#fetch = fetch
  }

  async get(url: string, headers: Record<string, string> = {}): Promise<Page> {
    return this.#load(url, { headers })
  }

  /** Fills the form whose action ends with `action` and sends it. Hidden fields go along as they are. */
  async submit(page: Page, action: string, fields: Record<string, string>): Promise<Page> {
    const body = new URLSearchParams({ ...page.hidden(action), ...fields })
    return this.#load(new URL(action, page.url).href, { method: 'POST', body })
  }

  cookie(name: string): string | undefined {
    return [...this.#cookies].find(([key]) => key.includes(name))?.[1].value
  }

  setCookie(name: string, value: string): void {
    this.#cookies.set(name, { value, sameSite: 'Lax' })
  }

  forget(name: string): void {
    for (const key of this.#cookies.keys()) if (key.includes(name)) this.#cookies.delete(key)
  }

  async #load(url: string, init: RequestInit): Promise<Page> {
    const headers = new Headers(init.headers)
    const cookie = cookieHeader(this.#cookies)
    if (cookie !== '') headers.set('cookie', cookie)
    const response = await this.#fetch(url, { ...init, headers, redirect: 'manual' })
    keepCookies(this.#cookies, response)
    return new Page(url, response, await response.text())
  }
}

export class Page {
  readonly url: string
  readonly response: Response
  readonly html: string

  constructor(url: string, response: Response, html: string) {
    this.url = url
    this.response = response
    this.html = html
  }

  get status(): number {
    return this.response.status
  }

  hidden(action: string): Record<string, string> {
    const form = this.html.split('<form').find((part) => part.includes(`action="${action}"`)) ?? ''
    const inputs = form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)
    return Object.fromEntries([...inputs].map(([, name = '', value = '']) => [name, unescapeHtml(value)]))
  }

  /** Where the page or the answer goes next. */
  get next(): string | undefined {
    const refresh = /http-equiv="refresh" content="0;url=([^"]+)"/.exec(this.html)?.[1]
    return refresh === undefined ? (this.response.headers.get('location') ?? undefined) : unescapeHtml(refresh)
  }
}

function unescapeHtml(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}

export interface LoginOptions {
  person?: Person
  client?: Client
  redirectUri?: string
  pkce?: 'with' | 'without'
  state?: string
  decision?: 'approve' | 'deny'
  /** Changes or removes (undefined) authorize parameters. */
  parameters?: Record<string, string | undefined>
  browser?: Browser
}

export interface Callback {
  url: URL
  code: string
  verifier: string
  redirectUri: string
  client: Client
}

export interface TokenAnswer {
  access_token: string
  refresh_token: string
  token_type?: string
  expires_in?: number
  scope?: string
}

export function personOf(service: Service, email: string): Person {
  const found = service.people.find((person) => person.email.startsWith(email))
  if (found === undefined) throw new Error(`nobody called ${email}`)
  return found
}

export function clientOf(service: Service, name: string): Client {
  const found = service.clients.find((client) => client.name === name)
  if (found === undefined) throw new Error(`no client called ${name}`)
  return found
}

export const signInPath = '/auth/v1/sign-in'
export const consentPath = '/auth/v1/consent'
export const clientsPath = '/auth/v1/clients'

/** The authorize URL and the verifier that belongs to it. */
export function authorizeUrl(
  service: Service,
  options: LoginOptions = {},
): { url: string; verifier: string; redirectUri: string } {
  const client = options.client ?? clientOf(service, 'Demo public')
  const redirectUri = options.redirectUri ?? 'https://app.demo.example/callback'
  const verifier = randomBytes(32).toString('base64url')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }
  const all: Record<string, string | undefined> = {
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: redirectUri,
    scope: 'api.access',
    state: options.state ?? 'state-1',
    ...(options.pkce === 'without' ? {} : pkce),
    ...options.parameters,
  }
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(all)) if (value !== undefined) query.append(name, value)
  return { url: `${service.authUrl}/auth/v1/authorize?${query}`, verifier, redirectUri }
}

/** From an authorize URL through sign-in and consent, by the pages alone, to the address it leads to. */
export async function walk(
  service: Service,
  url: string,
  options: Pick<LoginOptions, 'person' | 'decision' | 'browser'> = {},
): Promise<URL> {
  const browser = options.browser ?? new Browser(service.fetch)
  const person = options.person ?? personOf(service, 'ada')
  let page = await browser.get(url)
  if (page.html.includes(signInPath) && !page.html.includes(consentPath)) {
    page = await browser.submit(page, signInPath, { email: person.email, password: person.password })
  }
  if (page.next === undefined) {
    page = await browser.submit(page, consentPath, { decision: options.decision ?? 'approve' })
  }
  return new URL(page.next ?? 'about:blank')
}

export async function authorize(service: Service, options: LoginOptions = {}): Promise<Callback> {
  const { url, verifier, redirectUri } = authorizeUrl(service, options)
  const next = await walk(service, url, options)
  const client = options.client ?? clientOf(service, 'Demo public')
  return { url: next, code: next.searchParams.get('code') ?? '', verifier, redirectUri, client }
}

export function basic(client: Client, secret: string = client.clientSecret ?? ''): string {
  return `Basic ${Buffer.from(`${client.clientId}:${secret}`).toString('base64')}`
}

/** The form of the code exchange, as the client kind asks. */
export async function exchange(
  service: Service,
  callback: Callback,
  changes: Record<string, string | undefined> = {},
): Promise<Response> {
  const { client } = callback
  const fields: Record<string, string | undefined> = {
    code: callback.code,
    redirect_uri: callback.redirectUri,
    ...(client.kind === 'public' ? { client_id: client.clientId, code_verifier: callback.verifier } : {}),
    ...changes,
  }
  const body = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) body.append(name, value)
  const headers: Record<string, string> = client.kind === 'public' ? {} : { authorization: basic(client) }
  return service.fetch(`${service.authUrl}/auth/v1/token?grant_type=authorization_code`, {
    method: 'POST',
    headers,
    body,
  })
}

/** The JSON of the refresh, as the client kind asks. */
export async function refresh(
  service: Service,
  client: Client,
  refreshToken: string,
  changes: Record<string, unknown> = {},
): Promise<Response> {
  const own = client.kind === 'public' ? { client_id: client.clientId } : {}
  const headers: Record<string, string> = client.kind === 'public' ? {} : { authorization: basic(client) }
  return service.fetch(`${service.authUrl}/auth/v1/token?grant_type=refresh_token`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ refresh_token: refreshToken, ...own, ...changes }),
  })
}

/** A whole login: authorize, sign in, approve, exchange. */
export async function login(service: Service, options: LoginOptions = {}): Promise<TokenAnswer> {
  const client = options.client ?? clientOf(service, 'Demo public')
  const callback = await authorize(service, options)
  const isVerified = client.kind === 'confidential' && options.pkce !== 'without'
  const response = await exchange(service, callback, isVerified ? { code_verifier: callback.verifier } : {})
  if (response.status !== 200) throw new Error(`exchange answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as TokenAnswer
}

/** A call of the API with a bearer token and, for POST, a JSON body. */
export async function callApi(
  service: Service,
  { token, path, body }: { token?: string; path: string; body?: unknown },
): Promise<Response> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  if (body === undefined) return service.fetch(service.baseUrl + path, { headers })
  const json = typeof body === 'string' ? body : JSON.stringify(body)
  return service.fetch(service.baseUrl + path, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: json,
  })
}

export const agentSearch = '/api/parent_agents/search'

/** The refresh or exchange error name of an answer. */
export async function errorOf(response: Response): Promise<string> {
  return ((await response.json()) as { error: string }).error
}

/** Signs a person in. Returns the consent page. */
export async function signInAs(
  name: string,
  { service, browser, options }: { service: Service; browser: Browser; options: LoginOptions },
): Promise<Page> {
  const { email, password } = personOf(service, name)
  const page = await browser.get(authorizeUrl(service, options).url)
  return browser.submit(page, signInPath, { email, password })
}

export async function codeCount({ context }: Assembly): Promise<number> {
  return (await rawDatabase(context.store.db).selectFrom('authorization_codes').selectAll().execute()).length
}
