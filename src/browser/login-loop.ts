import { AgentAuthError } from '../errors.ts'
import { bounded } from '../storage/lock.ts'
import type { TokenStorage } from '../storage/token-storage.ts'

const key = 'agent-auth:automatic'

/** More logins without a click in this time are a redirect loop. A page that signs in by itself is reloaded less often. */
const maxLogins = 5
const windowMs = 60_000

/**
 * Counts logins that start without a click. Rejects with `login_failed` for the sixth of them within a minute, because that is a redirect
 * loop, and with `storage_failed` if it cannot count.
 */
export async function countAutomatic(storage: TokenStorage, nowMs: number): Promise<void> {
  // The user clicked, touched or pressed a key in the last seconds, or the browser does not know.
  if (globalThis.navigator?.userActivation?.isActive !== false) return
  const isCounted = await bounded(async () => {
    const logins = String((await storage.getItem(key)) ?? '').split(' ')
    // The distance counts, because the clock may have been set back.
    const recent = logins.filter((at) => Math.abs(nowMs - Number(at)) < windowMs)
    if (recent.length >= maxLogins) return false
    await storage.setItem(key, [...recent, nowMs].join(' '))
    return true
  })
  if (!isCounted)
    throw new AgentAuthError('login_failed', 'Too many logins without a click. Call signIn() in a click handler.')
}
