import { AgentAuthError } from '../errors.ts'
import { bounded } from '../storage/lock.ts'
import type { TokenStorage } from '../storage/token-storage.ts'

const key = 'agent-auth:automatic'

/** A third login without a click and without success would be a redirect loop. */
const maxLogins = 2
const windowMs = 300_000
/** A page in a redirect loop loses its login sooner. */
const minLoginLifeMs = 5_000

/**
 * Counts logins that start without a click. Rejects with `login_failed` if there were two of them within five minutes and none
 * succeeded, because the next one is a redirect loop. A success counts once it has lasted. Rejects with `storage_failed` if it cannot
 * count.
 */
export async function countAutomatic(storage: TokenStorage, nowMs: number): Promise<void> {
  // The user clicked, touched or pressed a key in the last seconds, or the browser does not know.
  if (globalThis.navigator?.userActivation?.isActive !== false) return
  if (await bounded(() => count(storage, nowMs))) return
  throw new AgentAuthError(
    'login_failed',
    'Automatic sign-in stopped after two failures. Call signIn() in a click handler.',
  )
}

async function count(storage: TokenStorage, nowMs: number): Promise<boolean> {
  const [logins, succeededAt] = await read(storage)
  // The distance counts, because the clock may have been set back.
  const ageMs = (at: string): number => Math.abs(nowMs - Number(at))
  const hasLasted = succeededAt && ageMs(succeededAt) >= minLoginLifeMs
  const earlier = hasLasted ? [] : logins.split(' ').filter((at) => at && ageMs(at) < windowMs)
  if (earlier.length >= maxLogins) return false
  await storage.setItem(key, [...earlier, nowMs].join(' '))
  return true
}

/** Stores the time of a successful login. The next count decides whether the login lasted. Rejects with `storage_failed`. */
export async function noteSuccess(storage: TokenStorage, nowMs: number): Promise<void> {
  await bounded(async () => {
    const [logins] = await read(storage)
    if (logins) await storage.setItem(key, `${logins}+${nowMs}`)
  })
}

/** Returns the times of the counted logins, and that of the success after them. */
async function read(storage: TokenStorage): Promise<[logins: string, succeededAt?: string]> {
  const [logins = '', succeededAt = ''] = `${(await storage.getItem(key)) ?? ''}`.split('+')
  return [logins, succeededAt]
}
