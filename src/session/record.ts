import { parseObject } from '../internal/values.ts'
import { createTokens, isTokenText, type Tokens } from '../tokens.ts'

/** One user's tokens as stored: `id` identifies the sign-in, `rev` is the revision, which rises by one with each refresh. */
export interface SessionRecord {
  readonly id: string
  readonly rev: number
  /** Orders sign-ins: epoch milliseconds, but always more than that of the record that the sign-in replaced. A refresh keeps it. */
  readonly signedInAtMs?: number | undefined
  readonly tokens: Tokens
}

/** The content of the storage: a record, nothing, or text that is no record of this session. */
export type Stored = SessionRecord | 'absent' | 'unreadable' | 'newer' | 'foreign'

/** What one page or process knows: the tokens in memory, the sign-ins that ended here, and the one of them whose token expired. */
export interface Mine {
  readonly record: SessionRecord | undefined
  readonly ended: readonly string[]
  readonly expired: string | undefined
}

/**
 * What a read changes here.
 * - `keep`: nothing, because the storage and the memory agree.
 * - `take`: the stored record replaces the tokens in memory.
 * - `end`: the record is gone, because a user signed out elsewhere or data was cleared. So the session ends.
 * - `unsaved`: the storage lacks the tokens in memory, which are later than what it has. They are written at the next chance.
 * - `remove`: no user is signed in, and the storage has the record of a sign-in that ended here.
 */
export type Merged = 'keep' | 'take' | 'end' | 'unsaved' | 'remove'

/** Decides what the content of the storage changes here. Every read of a session ends in this function. */
export function merge(stored: Stored, { record, ended, expired }: Mine): Merged {
  if (stored === 'absent') return record ? 'end' : 'keep'
  if (!isRecord(stored)) return record ? 'unsaved' : 'keep'
  const isEnded = ended.includes(stored.id)
  if (record) {
    if (isSame(stored, record)) return 'keep'
    return isEnded || isLater(record, stored) ? 'unsaved' : 'take'
  }
  if (!isEnded) return 'take'
  return stored.id === expired ? 'keep' : 'remove'
}

/** Returns whether it is a later revision than the other record, or that of a later sign-in. Equal ones are not, so that two pages agree. */
function isLater(record: SessionRecord, other: SessionRecord): boolean {
  return record.id === other.id ? record.rev > other.rev : signInMs(record) > signInMs(other)
}

/** Returns the name of the record, its lock and its channel, which belong to one client of one service and one key. */
export function sessionName({ authUrl, clientId }: { authUrl: string; clientId: string }, key: string): string {
  return ['agent-auth', authUrl, clientId, key].map(encodeURIComponent).join(':')
}

export function isRecord(stored: Stored | undefined): stored is SessionRecord {
  return typeof stored === 'object'
}

/** Returns whether the content stays as it is: a later version of the library wrote it, or it belongs to another session. */
export function isLeftAlone(stored: Stored | undefined): stored is 'newer' | 'foreign' {
  return stored === 'newer' || stored === 'foreign'
}

/** Returns whether both are the same revision of the same sign-in with the same access token. */
export function isSame(one: Stored | undefined, other: SessionRecord): boolean {
  if (!isRecord(one)) return false
  return one.id === other.id && one.rev === other.rev && one.tokens.accessToken === other.tokens.accessToken
}

/** Returns when the user signed in, or if the record does not say it, when its tokens were obtained. */
export function signInMs({ signedInAtMs, tokens }: SessionRecord): number {
  return signedInAtMs ?? tokens.obtainedAtMs
}

/** Returns the record as JSON. `name` is that of the record, so that a copy under another key is `foreign`. */
export function encodeRecord(name: string, { id, rev, signedInAtMs, tokens }: SessionRecord): string {
  return JSON.stringify({ v: 1, owner: name, id, rev, signedInAtMs, ...tokens })
}

/** Reads what a storage returned: text, or an object from a storage that parses JSON itself. Never throws. */
export function decodeRecord(name: string, raw: unknown): Stored {
  if (raw == null) return 'absent'
  const value = parseObject(raw)
  const { v, id, rev, signedInAtMs, accessToken, refreshToken, expiresAtMs, obtainedAtMs, scope } = value ?? {}
  if (Number.isInteger(v) && (v as number) > 1) return 'newer'
  const valid =
    v === 1 &&
    typeof id === 'string' &&
    Number.isSafeInteger(rev) &&
    isTokenText(accessToken) &&
    typeof obtainedAtMs === 'number' &&
    areOptional('number', [signedInAtMs, expiresAtMs]) &&
    areOptional('string', [refreshToken, scope])
  if (!valid) return 'unreadable'
  if (value?.owner !== name) return 'foreign'
  const tokens = createTokens({ accessToken, refreshToken, expiresAtMs, obtainedAtMs, scope } as Tokens)
  return { id, rev: rev as number, signedInAtMs: signedInAtMs as number | undefined, tokens }
}

function areOptional(type: 'string' | 'number', values: readonly unknown[]): boolean {
  return values.every((value) => value === undefined || typeof value === type)
}
