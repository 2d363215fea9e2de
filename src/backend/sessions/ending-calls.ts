import { AgentAuthError, isAgentAuthError } from '../../errors.ts'
import { invalid } from '../../internal/values.ts'
import type { BackendContext } from '../context.ts'
import { checkSessionKey, isSessionKey } from '../cookies.ts'
import { endSession } from './end-session.ts'
import { isWellFormed } from './not-before.ts'
import type { RevocationResult } from './revocation.ts'

/**
 * Ends the session with this key. Resolves to false, and does nothing, if there is none. Rejects with `storage_failed` or
 * `config_invalid`.
 */
export async function endSessionOfKey(context: BackendContext, key: string): Promise<boolean> {
  checkSessionKey(context, key)
  let result: RevocationResult | undefined
  const end = (): Promise<void> =>
    endSession(context, key, (outcome) => {
      result = outcome
    })
  await orSay('This session may still be there', 'endSession', end)
  if (result) context.emit({ type: 'sessions_ended', scope: 'session', ...result })
  return result !== undefined
}

/** Checks the subject, and ends all of its sessions. Rejects with `storage_failed` or `config_invalid`. */
export async function endSessionsOf({ endings, live, emit }: BackendContext, subject: string): Promise<void> {
  if (typeof subject !== 'string' || subject === '' || !isWellFormed(subject))
    invalid('subject must be well-formed text that is not empty')
  if (isSessionKey(subject))
    invalid('subject must not be session.key. Pass session.claims?.subject, or call endSession(key)')
  await orSay('Sessions of this subject may still be there', 'endSessionsOf', () => endings.end(subject))
  await live.readAgain()
  emit({ type: 'sessions_ended', scope: 'subject' })
}

/** Ends all sessions. Rejects with `storage_failed`. */
export async function endAll({ endings, live, emit }: BackendContext): Promise<void> {
  await orSay('All sessions may still be there', 'endAll', () => endings.end())
  await live.readAgain()
  emit({ type: 'sessions_ended', scope: 'all' })
}

/** Says what has not ended, because the error of the storage does not. */
async function orSay(what: string, call: string, end: () => Promise<void>): Promise<void> {
  try {
    await end()
  } catch (error) {
    if (!isAgentAuthError(error) || error.code !== 'storage_failed') throw error
    const message = `${what}, because the storage failed. Check the storage, then call ${call} again.`
    throw new AgentAuthError('storage_failed', message, { retryable: true })
  }
}
