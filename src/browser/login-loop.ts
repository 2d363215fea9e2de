import { within } from '../deadline.ts'
import { AgentAuthError } from '../errors.ts'
import { storageFailed } from '../session/store.ts'
import type { TokenStorage } from '../storage/token-storage.ts'

const key = 'agent-auth:automatic'
const windowMs = 300_000
/** For all operations of one count. */
const limitMs = 5_000

/**
 * Counts logins that no person asked for: after two in five minutes without success, the third rejects with `login_failed`.
 * Rejects with `storage_failed` where it cannot count.
 */
export async function countAutomatic(storage: TokenStorage, nowMs: number): Promise<void> {
  // A click, a key or a touch of the last seconds: where the browser cannot tell, nothing is counted.
  if (globalThis.navigator?.userActivation?.isActive !== false) return
  const counted = await within(limitMs, count(storage, nowMs)).catch(() => {
    throw storageFailed()
  })
  if (!counted)
    throw new AgentAuthError(
      'login_failed',
      'Two logins in five minutes that nobody clicked for did not succeed. Let the person start the next one.',
    )
}

async function count(storage: TokenStorage, nowMs: number): Promise<boolean> {
  const earlier = ((await storage.getItem(key)) ?? '').split(' ').filter((at) => at && nowMs - Number(at) < windowMs)
  if (earlier.length > 1) return false
  await storage.setItem(key, [...earlier, nowMs].join(' '))
  return true
}

export async function forgetAutomatic(storage: TokenStorage): Promise<void> {
  await within(limitMs, (async () => storage.removeItem(key))())
}
