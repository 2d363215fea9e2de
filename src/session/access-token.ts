import { isAgentAuthError } from '../errors.ts'
import { abortable, abortedError } from '../internal/timeouts.ts'
import { checkNames, checkSignal } from '../internal/values.ts'
import { decide, freshness } from './decide-call.ts'
import { loginRequired, loginRequiredOrChanged, sessionChanged } from './errors.ts'
import type { SharedRefresh } from './refresh.ts'
import type { SessionParts } from './sync.ts'

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
  /** Ends only this caller's wait; the refresh continues. */
  readonly signal?: AbortSignal | null | undefined
}

const optionNames: readonly (keyof GetAccessTokenOptions)[] = ['rejected', 'minValidMs', 'forceRefresh', 'signal']

/** Returns `getAccessToken` of a session: it reads the storage, decides, and returns the current token, refreshes it first, or throws. */
export function tokenGetter(
  { config, memory, sync }: SessionParts,
  refresh: SharedRefresh,
): (options?: GetAccessTokenOptions) => Promise<string> {
  return async function getAccessToken(options: GetAccessTokenOptions = {}): Promise<string> {
    const { signal, rejected, minValidMs, forceRefresh } = checkNames('getAccessToken', options, optionNames)
    checkSignal(signal)
    const signInAtCall = memory.record?.id
    const read = sync.revalidate()
    if (read !== undefined) await abortable(read, signal)
    const { record } = memory
    // A call that was made for one user must not be sent with the token of another.
    const isOther = (signInAtCall ?? record?.id) !== record?.id || (rejected && memory.isFromAnotherSignIn(rejected))
    if (record && isOther) throw sessionChanged()
    if (signal?.aborted) throw abortedError()
    const isRejected = rejected === record?.tokens.accessToken
    const decision = decide(record, config.clock, { isRejected, minValidMs, forceRefresh })
    if (decision === 'expire') {
      memory.end('expired')
      queueMicrotask(() => memory.notify())
    }
    if (!record || decision === 'login_required' || decision === 'expire') throw loginRequired()
    if (decision === 'use') {
      if (memory.unsaved) sync.settleSoon()
      return record.tokens.accessToken
    }
    try {
      await refresh.wait(record, decision, signal)
    } catch (error) {
      const now = memory.record
      // Another page or process may have stored a newer token meanwhile.
      const isUsable = now?.id === record.id && freshness(now, config.clock.monotonicMs()) !== 'expired'
      const hasRefreshFailed = isAgentAuthError(error) && error.code !== 'aborted'
      if ((decision === 'refresh_proactively' || now !== record) && isUsable && hasRefreshFailed)
        return now.tokens.accessToken
      throw error
    }
    if (memory.record?.id !== record.id) throw loginRequiredOrChanged(memory)
    return memory.record.tokens.accessToken
  }
}
