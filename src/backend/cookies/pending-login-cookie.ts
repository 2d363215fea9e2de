import type { PendingLogin } from '../../authorize.ts'
import { AgentAuthError } from '../../errors.ts'
import { maxCookieBytes, maxPendingLoginCookieBytes, maxPendingLoginCookies } from '../../internal/limits.ts'
import type { BackendContext } from '../context.ts'
import { type CookieKind, cookieLine } from './cookie-attributes.ts'
import { readCookies } from './read-cookies.ts'

/** One pending login with its verifier, encrypted (A256GCM) in a cookie of its own. */
export interface PendingLoginCookie {
  readonly pending: PendingLogin
  /** The id that the session will have, so that a callback that is handled twice starts one session. */
  readonly sessionId: string
  /** The key of the session that the browser had when the login began. The new session replaces it. */
  readonly replacedKey?: string | undefined
}

/** Keeps text that was encrypted for another use from being accepted as a login. */
const purpose = 'login'

/** Loaded at the first login, because the module imports most of `jose`. */
const encryption = (): Promise<typeof import('../../storage/jwe.ts')> => import('../../storage/jwe.ts')

/**
 * Returns the `Set-Cookie` line of a login that starts. Rejects with `config_invalid` if it is too large for a cookie
 * (`maxCookieBytes`, 4,096).
 */
export async function pendingLoginLine(backend: BackendContext, login: PendingLoginCookie): Promise<string> {
  const { encrypt } = await encryption()
  const encrypted = await encrypt(await backend.pendingLoginKeys(), purpose, JSON.stringify(login))
  const line = cookieLine(kindOf(backend, login.pending.state), encrypted)
  if (line.length > maxCookieBytes)
    throw new AgentAuthError(
      'config_invalid',
      `The pending-login cookie would exceed ${maxCookieBytes} bytes. Shorten the client id or the URLs.`,
    )
  return line
}

/**
 * Returns lines that remove the oldest logins, so that all cookies fit together with this new line (`maxPendingLoginCookies`, 8,
 * and `maxPendingLoginCookieBytes`, 7,168).
 */
export function oldestLoginRemovals(backend: BackendContext, request: Request, line: string): string[] {
  let [count, bytes] = [1, line.length]
  // Browsers send the oldest first.
  const newestFirst = [...readCookies(request)].reverse()
  return newestFirst.flatMap(([name, value]) => {
    const state = stateOf(backend, name)
    if (state === undefined) return []
    count += 1
    bytes += name.length + value.length + '=; '.length
    const fits = count <= maxPendingLoginCookies && bytes <= maxPendingLoginCookieBytes
    return fits ? [] : [pendingLoginRemoval(backend, state)]
  })
}

/** Returns the login of a callback, or undefined if its cookie is missing, no secret decrypts it, or it has another state. */
export async function readPendingLogin(
  backend: BackendContext,
  request: Request,
  state: string,
): Promise<PendingLoginCookie | undefined> {
  const encrypted = readCookies(request).get(kindOf(backend, state).name)
  if (encrypted === undefined) return undefined
  const keys = await backend.pendingLoginKeys()
  const { decrypt } = await encryption()
  try {
    const login = JSON.parse(await decrypt(keys, purpose, encrypted)) as PendingLoginCookie
    return login.pending.state === state ? login : undefined
  } catch {
    // A cookie that was altered or encrypted under another secret has no login that can be finished here.
    return undefined
  }
}

/** Returns the `Set-Cookie` line that removes a login. */
export function pendingLoginRemoval(backend: BackendContext, state: string): string {
  return cookieLine(kindOf(backend, state))
}

function kindOf({ pendingLoginCookie: { prefix, suffix, ...kind } }: BackendContext, state: string): CookieKind {
  return { ...kind, name: prefix + state + suffix }
}

/** Returns the state in the name of a pending-login cookie of this app; undefined for the names of all other cookies. */
function stateOf({ pendingLoginCookie: { prefix, suffix } }: BackendContext, name: string): string | undefined {
  if (!name.startsWith(prefix) || !name.endsWith(suffix)) return undefined
  const [state] = /^[\w-]{43}$/.exec(name.slice(prefix.length, name.length - suffix.length)) ?? []
  return state
}
