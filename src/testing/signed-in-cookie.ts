import { checkMethods, checkNames, invalid } from '../internal/values.ts'
import type { TestService } from './test-service.ts'

/** Handles a request of the app under test in this process, as `backend.handle` does. */
export type AppHandler = (request: Request) => Promise<Response | null | undefined>

/** The options of `signedInCookie`. */
export interface SignedInCookieOptions {
  /** The service to which the backend sends the user. */
  readonly service: TestService
  /** URL of the login route of the backend. Default: `/auth/login` on the origin of the service's redirect URI. */
  readonly loginUrl?: string | undefined
  /** The email address of the user. Default: the user of the service's session. */
  readonly email?: string | undefined
}

/**
 * Runs the login flow of a backend in this process without a browser, and returns the `Cookie` header of a signed-in user. For a
 * backend in another process use `signedIn`, because the `fetch` of Node cannot send the headers of a navigation. Rejects with
 * `config_invalid`.
 */
export async function signedInCookie(handle: AppHandler, options: SignedInCookieOptions): Promise<string> {
  if (typeof handle !== 'function') invalid('handle must be a function, such as backend.handle')
  const { service, ...own } = checkNames('signedInCookie', options, ['service', 'loginUrl', 'email'])
  checkMethods('service', service, ['login', 'approving'])
  const { email = service.email, loginUrl = new URL('/auth/login', service.options.redirectUri).href } = own
  const cookies = new Map<string, string>()
  const visit = async (url: string): Promise<Response> => {
    const response = await handle(navigation(url, cookies))
    if (!response) return invalid(`the backend does not handle ${new URL(url).pathname}. Set loginUrl`)
    for (const line of response.headers.getSetCookie()) keep(cookies, line)
    return response
  }
  const authorizeUrl =
    (await visit(loginUrl)).headers.get('location') ??
    invalid(
      'the login route did not redirect. Set loginUrl, and pass backend.handle, because fetch sends no navigation',
    )
  const authorized = await service.approving(email, () => service.send(authorizeUrl, { redirect: 'manual' }))
  const callback = authorized.headers.get('location')
  if (!callback)
    invalid('the service refused the login. Give createBackend service.options, or register its redirect URI')
  const { status } = await visit(new URL(callback, authorizeUrl).href)
  // A login that can still be finished keeps its own cookie, which is not that of a user.
  if (status !== 200) invalid(`the callback of the backend responded with ${status}. Its body or its onEvent says why`)
  return cookieHeader(cookies)
}

/** A request as a browser sends it when the user opens the URL. */
function navigation(url: string, cookies: ReadonlyMap<string, string>): Request {
  const headers = new Headers({ 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', 'sec-fetch-site': 'none' })
  if (cookies.size > 0) headers.set('cookie', cookieHeader(cookies))
  return new Request(url, { headers, redirect: 'manual' })
}

function keep(cookies: Map<string, string>, line: string): void {
  const [pair = '', ...attributes] = line.split(';')
  const [name = '', value = ''] = pair.split(/=(.*)/s)
  const isRemoved = attributes.some((attribute) => /^\s*max-age=0\s*$/i.test(attribute))
  if (isRemoved) cookies.delete(name)
  else cookies.set(name, value)
}

function cookieHeader(cookies: ReadonlyMap<string, string>): string {
  return [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
}
