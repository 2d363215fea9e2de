import { AgentAuthError, isAgentAuthError } from '../errors.ts'
import { withTimeout } from '../internal/timeouts.ts'
import { storageFailed } from '../session/store.ts'
import type { TokenStorage } from '../storage/token-storage.ts'

const key = 'agent-auth:automatic'
const windowMs = 300_000
/** A login that is gone sooner, as from the memory of a page that leaves at once, was no success. */
const keptMs = 5_000
/** For all operations of one count. */
const limitMs = 5_000

/** Logins that one page starts within this time are started for one reason: by two components, or by two instances. */
const sameReasonMs = 5_000

export interface AutomaticLogin {
  readonly nowMs: number
  /** Tells pages apart: when this one began, as `performance.timeOrigin` says it. */
  readonly page: number
}

/**
 * Counts logins that no person asked for: after two in five minutes without success, the third rejects with `login_failed`.
 * Rejects with `storage_failed` where it cannot count.
 */
export async function countAutomatic(storage: TokenStorage, login: AutomaticLogin): Promise<void> {
  // A click, a key or a touch of the last seconds: where the browser cannot tell, nothing is counted.
  if (globalThis.navigator?.userActivation?.isActive !== false) return
  const counted = await withTimeout(limitMs, count(storage, login)).catch((error: unknown) => {
    throw isAgentAuthError(error) && error.code === 'storage_failed' ? error : storageFailed()
  })
  if (!counted)
    throw new AgentAuthError(
      'login_failed',
      'Two logins in five minutes that nobody clicked for did not succeed. Let the person start the next one.',
    )
}

async function count(storage: TokenStorage, { nowMs, page }: AutomaticLogin): Promise<boolean> {
  const [logins, succeededAt] = await read(storage)
  const isKept = succeededAt !== undefined && Math.abs(nowMs - Number(succeededAt)) >= keptMs
  const since = (login: string): number => Math.abs(nowMs - Number(login.split('@')[0]))
  const earlier = logins.split(' ').filter((login) => login && !isKept && since(login) < windowMs)
  if (earlier.some((login) => login.endsWith(`@${page}`) && since(login) < sameReasonMs)) return true
  if (earlier.length > 1) return false
  await storage.setItem(key, [...earlier, `${nowMs}@${page}`].join(' '))
  return true
}

/** Notes a login that succeeded; whether it lasted shows when the next one begins. */
export async function noteSuccess(storage: TokenStorage, nowMs: number): Promise<void> {
  const note = async (): Promise<void> => {
    const [logins] = await read(storage)
    if (logins) await storage.setItem(key, `${logins}+${nowMs}`)
  }
  await withTimeout(limitMs, note())
}

/** The logins counted, each with its time and page, and the time of the success after them. */
async function read(storage: TokenStorage): Promise<[logins: string, succeededAt: string | undefined]> {
  const [logins = '', succeededAt] = ((await storage.getItem(key)) ?? '').split('+')
  return [logins, succeededAt]
}
