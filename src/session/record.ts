import { invalid } from '../config/invalid.ts'
import { attempt } from '../internal/attempt.ts'
import { createTokens, isTokenText, type Tokens } from '../tokens.ts'

/** One user's tokens as stored: `id` identifies the sign-in, `rev` is the revision, which rises by one with each refresh. */
export interface SessionRecord {
  readonly id: string
  readonly rev: number
  /** When the user signed in, in epoch milliseconds. A refresh keeps it. */
  readonly signedInAtMs?: number | undefined
  /** Whether the sign-in could not be saved at once. A refresh keeps it. */
  readonly late?: boolean | undefined
  readonly tokens: Tokens
}

/** The content of the storage: a record, nothing, or text that is no record of this session. */
export type Stored = SessionRecord | 'absent' | 'unreadable' | 'newer' | 'foreign'

/**
 * Returns the name of the record, its lock and its channel, which belong to one client of one service and one key. Throws
 * `config_invalid` for a key with a lone surrogate, because that cannot be encoded.
 */
export function sessionName({ authUrl, clientId }: { authUrl: string; clientId: string }, key: string): string {
  const name = attempt(() => ['agent-auth', authUrl, clientId, key].map(encodeURIComponent).join(':'))
  return name ?? invalid('key must be well-formed text')
}

/** Returns whether this is a record. `unread` is that of `UnsavedRecord.over` (reconcile.ts): it is unknown what is stored. */
export function isRecord(stored: Stored | 'unread' | undefined): stored is SessionRecord {
  return typeof stored === 'object'
}

/** Returns when the user signed in, or if the record does not say it, when its tokens were obtained. */
export function signInMs({ signedInAtMs, tokens }: SessionRecord): number {
  return signedInAtMs ?? tokens.obtainedAtMs
}

/**
 * Returns the record as JSON, which has the tokens as they are: `encryptedStorage` encrypts it. `name` is that of the record,
 * so that a copy under another key is `foreign`.
 */
export function encodeRecord(name: string, { id, rev, signedInAtMs, late, tokens }: SessionRecord): string {
  return JSON.stringify({ v: 1, owner: name, id, rev, signedInAtMs, late, ...tokens })
}

/**
 * Reads what a storage returned: text, or an object from a storage that parses JSON itself. Never throws. `applyStored` (apply-stored.ts)
 * reports every result but a record and `absent`, and removes an `unreadable` one under the lock. A session that has tokens keeps them
 * and continues (`reconcile`). A session without tokens is signed out. A sign-in writes over `unreadable` (save.ts). A `newer` or
 * `foreign` record stays. A sign-in or sign-out whose read fails cannot recognize it, and writes over it or removes it.
 */
export function decodeRecord(name: string, raw: unknown): Stored {
  if (raw == null) return 'absent'
  const value: Record<string, unknown> | undefined = typeof raw === 'string' ? attempt(() => JSON.parse(raw)) : raw
  const { v, id, rev, signedInAtMs, late, accessToken, refreshToken, expiresAtMs, obtainedAtMs, scope } = value ?? {}
  if (Number.isInteger(v) && (v as number) > 1) return 'newer'
  const valid =
    v === 1 &&
    typeof id === 'string' &&
    Number.isSafeInteger(rev) &&
    isOptional('number', signedInAtMs) &&
    isTokenText(accessToken) &&
    isOptional('string', refreshToken) &&
    isOptional('number', expiresAtMs) &&
    isOptional('string', scope) &&
    typeof obtainedAtMs === 'number'
  if (!valid) return 'unreadable'
  if (value?.owner !== name) return 'foreign'
  const tokens = { accessToken, refreshToken, expiresAtMs, obtainedAtMs, scope } as Tokens
  return {
    id,
    rev: rev as number,
    signedInAtMs: signedInAtMs as number | undefined,
    // `isEarlierSignIn` (reconcile.ts) compares it with `true`, so it needs no check here.
    late: late as boolean | undefined,
    tokens: createTokens(tokens),
  }
}

function isOptional(type: 'string' | 'number', value: unknown): boolean {
  return value === undefined || typeof value === type
}
