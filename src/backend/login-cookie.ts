import { encode as base64url } from 'jose/base64url'
import type { PendingLogin } from '../authorize.ts'
import { AgentAuthError } from '../errors.ts'
import { invalid } from '../internal/values.ts'
import type { EncryptionKeys } from '../storage/jwe.ts'
import { cookieLine, type PendingLoginCookieKind, readCookies } from './cookies.ts'

/** Browsers ignore a larger `Set-Cookie` line without a notice. RFC 6265 section 6.1. */
const maxCookieBytes = 4_096
/** Servers refuse more than 8 KiB of headers, and other cookies need room. */
const maxPendingLoginBytes = 7_168
/** 32 characters of base64 hold 192 bits. */
const minSecretLength = 32

/** One pending login with its verifier, encrypted (A256GCM) in a cookie of its own. */
export interface PendingLoginCookie {
  readonly pending: PendingLogin
  /** The id that the session will have, so that a callback that is handled twice starts one session. */
  readonly sessionId: string
  /** The key of the session that the browser had when the login began. The new session replaces it. */
  readonly replacedKey?: string | undefined
}

interface LoginCookies {
  readonly pendingLoginKeys: () => Promise<EncryptionKeys>
  readonly pendingLoginCookie: PendingLoginCookieKind
}

/** Keeps text that was encrypted for another use from being accepted as a login. */
const purpose = 'login'

/** Loaded at the first login, because the module imports most of `jose`. */
const encryption = (): Promise<typeof import('../storage/jwe.ts')> => import('../storage/jwe.ts')

/** Returns the `Set-Cookie` line of a login that starts. Rejects with `config_invalid` if it is too large for a cookie. */
export async function pendingLoginLine(backend: LoginCookies, login: PendingLoginCookie): Promise<string> {
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

/** Returns lines that remove the oldest logins, so that all cookies fit together with this new line. */
export function oldestLoginRemovals(backend: LoginCookies, request: Request, line: string): string[] {
  let bytes = line.length
  // Browsers send the oldest first.
  const newestFirst = [...readCookies(request)].reverse()
  return newestFirst.flatMap(([name, value]) => {
    const state = stateOf(backend, name)
    if (state === undefined) return []
    bytes += name.length + value.length + '=; '.length
    return bytes <= maxPendingLoginBytes ? [] : [pendingLoginRemoval(backend, state)]
  })
}

/** Returns the login of a callback, or undefined if its cookie is missing, no secret decrypts it, or it has another state. */
export async function readPendingLogin(
  backend: LoginCookies,
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
export function pendingLoginRemoval(backend: LoginCookies, state: string): string {
  return cookieLine(kindOf(backend, state))
}

function kindOf({ pendingLoginCookie: { prefix, suffix, ...kind } }: LoginCookies, state: string) {
  return { ...kind, name: prefix + state + suffix }
}

/** Returns the state in the name of a pending-login cookie of this app; undefined for the names of all other cookies. */
function stateOf({ pendingLoginCookie: { prefix, suffix } }: LoginCookies, name: string): string | undefined {
  if (!name.startsWith(prefix) || !name.endsWith(suffix)) return undefined
  const [state] = /^[\w-]{43}$/.exec(name.slice(prefix.length, name.length - suffix.length)) ?? []
  return state
}

/**
 * Checks the option `secrets`, and returns a function that derives their keys once, at its first call. They encrypt the cookies of
 * pending logins only: the first encrypts and all decrypt. A changed secret signs no user out. Throws `config_invalid`.
 */
export function pendingLoginKeys(secrets: readonly string[]): () => Promise<EncryptionKeys> {
  const areValid =
    Array.isArray(secrets) &&
    secrets.length > 0 &&
    new Set(secrets).size === secrets.length &&
    secrets.every((text) => typeof text === 'string' && text.length >= minSecretLength)
  if (!areValid)
    invalid(
      `secrets must be a list of different strings of at least ${minSecretLength} characters. Create each with openssl rand -base64 32`,
    )
  const copy = [...secrets]
  let keys: Promise<EncryptionKeys> | undefined
  return () => {
    keys ??= Promise.all(copy.map(derive)).then((pairs) => new Map(pairs))
    return keys
  }
}

/** Derives the key id as well, so that it reveals nothing about the secret. RFC 5869. */
async function derive(secret: string): Promise<[kid: string, key: CryptoKey]> {
  const encoder = new TextEncoder()
  const from = (info: string): HkdfParams => {
    return { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: encoder.encode(`agent-auth ${info}`) }
  }
  const { subtle } = crypto
  const base = await subtle.importKey('raw', encoder.encode(secret), 'HKDF', false, ['deriveKey', 'deriveBits'])
  const kid = new Uint8Array(await subtle.deriveBits(from('key id'), base, 48))
  const aes = { name: 'AES-GCM', length: 256 }
  return [base64url(kid), await subtle.deriveKey(from('cookie'), base, aes, false, ['encrypt', 'decrypt'])]
}
