import { within } from '../deadline.ts'
import { AgentAuthError } from '../errors.ts'
import { storageFailed } from '../session/store.ts'
import type { TokenStorage } from '../storage/token-storage.ts'

const key = 'agent-auth:automatic'
const windowMs = 300_000
/** A login that is gone sooner, as from the memory of a page that leaves at once, was no success. */
const keptMs = 5_000
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
  const [times, succeededAt] = await read(storage)
  const isKept = succeededAt !== undefined && Math.abs(nowMs - Number(succeededAt)) >= keptMs
  const earlier = times.split(' ').filter((at) => at && !isKept && Math.abs(nowMs - Number(at)) < windowMs)
  if (earlier.length > 1) return false
  await storage.setItem(key, [...earlier, nowMs].join(' '))
  return true
}

/** Notes a login that succeeded; whether it lasted shows when the next one begins. */
export async function noteSuccess(storage: TokenStorage, nowMs: number): Promise<void> {
  const note = async (): Promise<void> => {
    const [times] = await read(storage)
    if (times) await storage.setItem(key, `${times}+${nowMs}`)
  }
  await within(limitMs, note())
}

/** The times of the logins counted, and that of the success after them. */
async function read(storage: TokenStorage): Promise<[times: string, succeededAt: string | undefined]> {
  const [times = '', succeededAt] = ((await storage.getItem(key)) ?? '').split('+')
  return [times, succeededAt]
}
