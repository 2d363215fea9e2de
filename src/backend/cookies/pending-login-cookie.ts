import type { PendingLogin } from '../../authorize.ts'
import { AgentAuthError } from '../../errors.ts'
import type { BackendContext } from '../options.ts'
import { type CookieKind, cookieLine, readCookies } from './cookies.ts'

/** One login on its way, sealed into a cookie of its own. */
export interface LoginOnItsWay {
  readonly pending: PendingLogin
  /** The id the session will have, so that a callback handled twice makes one session. */
  readonly id: string
  /** The key of the session that was there when the login began; it ends when this one begins. */
  readonly replaces?: string | undefined
}

const context = 'login'
/** Beyond, the browser would drop the cookie silently. RFC 6265 section 6.1. */
const maxCookieBytes = 4_096
const maxPending = 8
/** Of all logins together: servers refuse a request whose cookies are larger than 8 KiB, and other cookies need room too. */
const maxPendingBytes = 7_168

/** Loaded at the first login, because it brings most of `jose`. */
const sealing = (): Promise<typeof import('../../storage/encrypt.ts')> => import('../../storage/encrypt.ts')

/** `Set-Cookie` lines for a login that starts. Rejects with `config_invalid` when it does not fit a cookie. */
export async function loginCookie(backend: BackendContext, login: LoginOnItsWay): Promise<string> {
  const { seal } = await sealing()
  const sealed = await seal(await backend.keys(), context, JSON.stringify(login))
  const line = cookieLine(kindOf(backend, login.pending.state), sealed)
  if (line.length > maxCookieBytes)
    throw new AgentAuthError('config_invalid', 'The login does not fit a cookie: shorten the client id or the URLs.')
  return line
}

/** Lines that remove the oldest logins, so that the one of this line fits. */
export function crowdedOut(backend: BackendContext, request: Request, line: string): string[] {
  let [count, bytes] = [1, line.length]
  // Browsers send the oldest first.
  const newestFirst = [...readCookies(request)].reverse()
  return newestFirst.flatMap(([name, value]) => {
    const state = stateOf(backend, name)
    if (state === undefined) return []
    count += 1
    bytes += name.length + value.length + '=; '.length
    return count > maxPending || bytes > maxPendingBytes ? [removeLogin(backend, state)] : []
  })
}

/** The login a callback belongs to; undefined when the cookie is missing, was altered or no secret opens it. */
export async function findLogin(
  backend: BackendContext,
  request: Request,
  state: string,
): Promise<LoginOnItsWay | undefined> {
  const sealed = readCookies(request).get(kindOf(backend, state).name)
  if (sealed === undefined) return undefined
  const keys = await backend.keys()
  const { unseal } = await sealing()
  try {
    const login = JSON.parse(await unseal(keys, context, sealed)) as LoginOnItsWay
    return login.pending.state === state ? login : undefined
  } catch {
    // Altered, sealed under another secret, or of another version: no login that can be finished here.
    return undefined
  }
}

export function removeLogin(backend: BackendContext, state: string): string {
  return cookieLine(kindOf(backend, state))
}

function kindOf({ loginCookie: { prefix, suffix, ...kind } }: BackendContext, state: string): CookieKind {
  return { ...kind, name: prefix + state + suffix }
}

/** The state in the name of a login cookie of this app; undefined for the names of all other cookies. */
function stateOf({ loginCookie: { prefix, suffix } }: BackendContext, name: string): string | undefined {
  if (!name.startsWith(prefix) || !name.endsWith(suffix)) return undefined
  const [state] = /^[\w-]{43}$/.exec(name.slice(prefix.length, name.length - suffix.length)) ?? []
  return state
}
