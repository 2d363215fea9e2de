import { generateRandomState } from 'oauth4webapi'
import { checkAwaited, checkMethods, checkNames, invalid } from '../internal/values.ts'
import { encodeRecord, sessionName } from '../session/record.ts'
import type { Tokens } from '../tokens.ts'
import type { TestService } from './test-service.ts'

/** Where a page keeps its session. */
export type PageStorage = 'indexedDb' | 'localStorage' | 'sessionStorage'

/** The methods of a Playwright page that `signedIn` calls. */
export interface TestPage {
  /** Opens a URL. */
  goto(url: string): Promise<unknown>
  /** Returns the URL of the page. */
  url(): string
  /** Runs a function in the page. */
  evaluate<A>(pageFunction: (argument: A) => unknown, argument: A): Promise<unknown>
  /** Responds to the requests for a URL. */
  route(url: string, handler: (route: TestRoute) => Promise<void>): Promise<unknown>
  /** Removes the response. */
  unroute(url: string): Promise<void>
}

/** The method of a Playwright route that `signedIn` calls. */
export interface TestRoute {
  /** Responds to the request. */
  fulfill(response: { contentType: string; body: string }): Promise<void>
}

/** The options of `signedIn`. */
export interface SignedInOptions {
  /** URL of the page to open, signed in. */
  readonly url: string
  /** The service to which the user is signed in. Its option `transport` must be `loopback`. */
  readonly service?: TestService | undefined
  /** The email address of the user. Default: the user of the service's session. */
  readonly email?: string | undefined
  /** URL of the login route of a backend. The page then goes through the login flow without forms, and no record is written. */
  readonly loginUrl?: string | undefined
  /** Tokens for the page, in the place of those of a `service`. Needs `authUrl` and `clientId`. */
  readonly tokens?: Tokens | undefined
  /** The option of the app's `createBrowserAuth`. Default: that of the service. */
  readonly authUrl?: string | undefined
  /** The option of the app's `createBrowserAuth`. Default: the client of the service's session. */
  readonly clientId?: string | undefined
  /** Where the app stores its session: `indexedDbStorage()`, or `webStorage` of one of the two areas. Default: `indexedDb`. */
  readonly storage?: PageStorage | undefined
  /** The option `key` of the app's `createBrowserAuth`. Default: `default`. */
  readonly key?: string | undefined
  /** The option `database` of the app's `indexedDbStorage`. Default: `agent-auth`. */
  readonly database?: string | undefined
}

const appNames: readonly string[] = ['authUrl', 'clientId', 'storage', 'key', 'database']
const optionNames: readonly string[] = ['url', 'service', 'email', 'loginUrl', 'tokens', ...appNames]

/**
 * Signs a Playwright page in and opens `url`. A page of a single-page app gets the tokens of a new sign-in in the storage of its
 * origin. With `loginUrl` the backend gets them by a login flow without forms. Rejects with `config_invalid`.
 */
export async function signedIn(page: TestPage, options: SignedInOptions): Promise<void> {
  const own = checkNames('signedIn', options, optionNames)
  const { url, service, loginUrl, tokens } = own
  if (service !== undefined) checkMethods('service', service, ['login', 'approving'])
  checkAwaited('tokens', tokens)
  if (!URL.canParse(url)) invalid('url must be an absolute URL, such as http://127.0.0.1:5173/')
  if (loginUrl === undefined) await storeRecord(page, own)
  else await followLogin(page, { ...own, loginUrl })
  await page.goto(url)
}

async function followLogin(page: TestPage, options: SignedInOptions & { loginUrl: string }): Promise<void> {
  const { service, loginUrl } = options
  if (!service) invalid('signedIn with loginUrl needs the service to which the backend sends the user')
  const { email = service.email } = options
  await service.approving(email, () => page.goto(loginUrl))
  if (new URL(page.url()).origin === new URL(service.authUrl).origin)
    invalid(
      'the service refused the login. Register the redirect URI of the backend: testService({ service: { redirectUris } })',
    )
}

async function storeRecord(page: TestPage, options: SignedInOptions): Promise<void> {
  const { service, storage = 'indexedDb', key = 'default', database = 'agent-auth' } = options
  const { authUrl = service?.authUrl, clientId = service?.config.clientId } = options
  const tokens = options.tokens ?? (await service?.login(options.email))
  if (!authUrl || !clientId || !tokens) invalid('signedIn needs a service, or tokens with authUrl and clientId')
  const name = sessionName({ authUrl, clientId }, key)
  const record = { id: generateRandomState(), rev: 1, signedInAtMs: tokens.obtainedAtMs, tokens }
  // An empty page of the origin, because the app must find the record when it starts.
  const blank = new URL('/agent-auth-testing', options.url).href
  await page.route(blank, (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }))
  await page.goto(blank)
  await page.evaluate(writeRecord, { storage, database, name, text: encodeRecord(name, record) })
  await page.unroute(blank)
}

/** A record, and where the app looks for it. */
interface PageRecord {
  readonly storage: PageStorage
  readonly database: string
  readonly name: string
  readonly text: string
}

/** Writes a record as the storages of `agent-auth/browser` do. Runs in the page, so it may use nothing outside itself. */
async function writeRecord({ storage, database, name, text }: PageRecord): Promise<void> {
  if (storage !== 'indexedDb') {
    globalThis[storage].setItem(name, text)
    return
  }
  const bytes = (value: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(value)
  const key = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt'])
  const iv = crypto.getRandomValues(new Uint8Array(12))
  const algorithm = { name: 'AES-GCM', iv, additionalData: bytes(name) }
  const record = { key, iv, text: await crypto.subtle.encrypt(algorithm, key, bytes(text)) }
  await new Promise<void>((resolve, reject) => {
    const opening = indexedDB.open(database, 1)
    opening.onupgradeneeded = () => opening.result.createObjectStore('records')
    opening.onerror = () => reject(opening.error)
    opening.onsuccess = () => {
      const { result } = opening
      const transaction = result.transaction('records', 'readwrite', { durability: 'strict' })
      transaction.objectStore('records').put(record, name)
      transaction.onerror = () => reject(transaction.error)
      transaction.oncomplete = () => {
        result.close()
        resolve()
      }
    }
  })
}
