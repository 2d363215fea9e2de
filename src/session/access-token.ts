import { checkNames } from '../config/check-options.ts'
import { isAgentAuthError } from '../errors.ts'
import { abortable, abortedError } from '../internal/timeouts.ts'
import type { MaybePromise } from '../storage/token-storage.ts'
import type { CurrentRecord, CurrentSession } from './current.ts'
import { decide, type Wanted } from './decide-call.ts'
import { loginRequired, loginRequiredOrChanged, sessionChanged } from './errors.ts'
import { freshness } from './freshness.ts'
import type { SessionParts } from './parts.ts'
import type { RefreshRetries, Urgency } from './refresh-retries.ts'
import { pendingSave } from './save.ts'
import { isPromise } from './store.ts'

/** The options of `getAccessToken`. */
export interface GetAccessTokenOptions {
  /**
   * An access token the API refused with 401. Calls that report the same one share a refresh; one that reports an older token gets
   * the current one.
   */
  readonly rejected?: string | undefined
  /**
   * Asks for a token that is valid for this long, as far as the service grants it. Milliseconds, default 0. It has no effect
   * while the current token is younger than 5 s, or than half its life if that is shorter.
   */
  readonly minValidMs?: number | undefined
  /** Refreshes the token even if it seems valid. Default `false`. */
  readonly forceRefresh?: boolean | undefined
  /** Ends only this caller's wait; the refresh goes on. */
  readonly signal?: AbortSignal | null | undefined
}

/**
 * A member of the function `getAccessToken` of a session, for the bearer fetch. It needs no promise and no check of options, which are a
 * fifth of the cost of a call.
 */
export interface InMemory {
  /**
   * Returns the token that `getAccessToken()` would return without a wait, or undefined if that would wait or refresh. Throws
   * `session_changed` or `login_required` if its own read of the storage replaces or ends the session. It must not return undefined then,
   * because the caller would call `getAccessToken`, and that would return the token of the new user. `called` is the function on which
   * the caller found this member. An app may replace `getAccessToken` by a mock that copies its members. Then `called` is the mock, and
   * the result is undefined, so that the caller calls the mock.
   */
  readonly tokenInMemory?: (called: unknown) => string | undefined
}

const optionNames: readonly (keyof GetAccessTokenOptions)[] = ['rejected', 'minValidMs', 'forceRefresh', 'signal']

/** Returns `getAccessToken` of a session: it reads the storage, carries out the decision, and repeats a pending write. */
export function tokenGetter(
  parts: SessionParts,
  retries: RefreshRetries,
): ((options?: GetAccessTokenOptions) => Promise<string>) & InMemory {
  const { config, current, sync } = parts
  const savePending = pendingSave(parts)

  function tokenInMemory(called: unknown): string | undefined {
    const signInAtCall = current.record?.id
    if (called !== getAccessToken || !signInAtCall) return undefined
    // `getAccessToken` waits for the same read (`due` in storage-sync.ts), so its promise can be dropped.
    if (isPromise(sync.revalidate())) return undefined
    rejectAnotherSignIn(current, signInAtCall)
    const decision = decide(current.record, config.clock)
    if (decision === 'login_required') throw loginRequired()
    if (decision !== 'use') return undefined
    savePending()
    return current.record?.tokens.accessToken
  }

  async function getAccessToken(options: GetAccessTokenOptions = {}): Promise<string> {
    const wanted = checkNames('getAccessToken', options, optionNames)
    const signInAtCall = current.record?.id
    const read = sync.revalidate()
    if (isPromise(read)) await abortable(read, wanted.signal)
    rejectAnotherSignIn(current, signInAtCall)
    const { record } = current
    try {
      return await accessToken(parts, retries, wanted)
    } finally {
      // Not if the tokens changed: a refresh has saved the new ones, or its write has just failed or could not be sent.
      if (current.record === record) savePending()
    }
  }

  return Object.assign(getAccessToken, { tokenInMemory })
}

/** A call that was made for one user must not be sent with the token of another. */
function rejectAnotherSignIn({ record }: CurrentSession, signInAtCall: string | undefined): void {
  if (signInAtCall && record && record.id !== signInAtCall) throw sessionChanged()
}

/** Carries out what `decide` says: returns the current token, refreshes it first, or throws. */
function accessToken(
  parts: SessionParts,
  retries: RefreshRetries,
  { rejected, minValidMs, forceRefresh, signal }: GetAccessTokenOptions,
): MaybePromise<string> {
  const { config, current } = parts
  if (signal?.aborted) throw abortedError()
  const { record } = current
  const decision = decide(record, config.clock, { rejected: rejectedKind(current, rejected), minValidMs, forceRefresh })
  if (decision === 'session_changed') throw sessionChanged()
  if (decision === 'expire') {
    current.end('expired')
    current.notify()
  }
  if (!record || decision === 'login_required' || decision === 'expire') throw loginRequired()
  if (decision === 'use') return record.tokens.accessToken
  const urgency = decision === 'refresh_required' ? 'required' : 'proactive'
  return refreshedToken(parts, record, { refresh: () => retries.refresh(record, urgency, signal), urgency })
}

/**
 * Refreshes and returns the new token. If a proactive refresh fails, also with `lock_timeout`, the caller gets the current token
 * while that is valid. If a required one fails, the call rejects with its error, unless another page or process has stored a newer
 * token meanwhile, and that is valid.
 */
async function refreshedToken(
  { config, current }: SessionParts,
  record: CurrentRecord,
  { refresh, urgency }: { refresh(): Promise<void>; urgency: Urgency },
): Promise<string> {
  try {
    await refresh()
  } catch (error) {
    const now = current.record
    const isUsable = now?.id === record.id && freshness(now, config.clock.monotonicMs()) !== 'expired'
    const hasRefreshFailed = isAgentAuthError(error) && error.code !== 'aborted'
    if ((urgency === 'proactive' || now !== record) && isUsable && hasRefreshFailed) return now.tokens.accessToken
    throw error
  }
  if (current.record?.id !== record.id) throw loginRequiredOrChanged(current.record)
  return current.record.tokens.accessToken
}

function rejectedKind(current: CurrentSession, rejected: string | undefined): Wanted['rejected'] {
  if (!rejected) return undefined
  if (current.isFromAnotherSignIn(rejected)) return 'another_sign_in'
  return rejected === current.record?.tokens.accessToken ? 'current' : undefined
}
