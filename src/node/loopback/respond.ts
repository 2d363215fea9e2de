import type { IncomingMessage, ServerResponse } from 'node:http'
import { pageStyle, pageStyleSource } from '../../internal/page-style.ts'
import { attempt } from '../../internal/values.ts'
import { isOfOtherUser } from './listen.ts'

/** What the server of a loopback login needs to know. */
export interface CallbackServer {
  /** The address of the server, which the `Host` header must name. */
  readonly origin: string
  /** The redirect URI of the login. */
  readonly redirectUri: string
  /** Returns the authorize URL for the path that the browser was sent to, once, and `used` for the same path again. */
  start(path: string): string | undefined
  /** Returns whether the URL is the callback of the login. If not, as with another `state`, the browser gets 400 and the login goes on. */
  accept(url: string): boolean
  /** Called when the browser has the last page. */
  onShown(): void
}

/** The same for every response, because pages of other sites must neither read nor frame it. No header allows another origin. */
const headers: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src ${pageStyleSource}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  connection: 'close',
}

interface Reply {
  readonly status: number
  readonly text: string
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Responds to one request. Only a GET of the redirect URI can end the login. The callback is answered with 303, so that the
 * browser's history does not keep the URL with the code. RFC 9700 section 4.3.1.
 */
export function respond(server: CallbackServer, request: IncomingMessage, response: ServerResponse): void {
  const { status, text, headers: more } = replyTo(server, request)
  if (status === 200) response.once('close', server.onShown)
  // The page is of fixed text, because one that shows a part of the request could be made to show anything.
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Sign-in</title><style>${pageStyle}</style><main><p>${text}</p></main></html>\n`
  response.writeHead(status, { ...headers, ...more }).end(page)
}

function replyTo({ origin, redirectUri, start, accept }: CallbackServer, request: IncomingMessage): Reply {
  const { pathname } = new URL(redirectUri)
  const lastPage = `${pathname.replace(/\/$/, '')}/done`
  const url = attempt(() => new URL(request.url ?? '', origin))
  // A page of another site reaches this port under a name of its own, which DNS resolves to loopback.
  if (request.headers.host !== new URL(origin).host || url?.origin !== origin)
    return { status: 400, text: 'This address is not served here.' }
  if (request.method !== 'GET') return { status: 405, text: 'Only GET is served here.', headers: { allow: 'GET' } }
  if (url.pathname === lastPage) return { status: 200, text: 'You can close this page and return to the terminal.' }
  // Other users can read the address in the arguments of a program, and be faster than the browser.
  const target = isOfOtherUser(request.socket) ? undefined : start(url.pathname)
  if (target === 'used') return { status: 410, text: 'This address was opened twice. Start the login again.' }
  if (target) return { status: 303, text: 'The login continues at the service.', headers: { location: target } }
  if (url.pathname !== pathname) return { status: 404, text: 'There is no such page.' }
  if (!accept(url.href)) return { status: 400, text: 'This is not the callback of the login that is in progress.' }
  return { status: 303, text: 'The login continues in the terminal.', headers: { location: lastPage } }
}
