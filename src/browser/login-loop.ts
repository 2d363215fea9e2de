import { AgentAuthError } from '../errors.ts'
import { bounded } from '../storage/lock.ts'
import type { TokenStorage } from '../storage/token-storage.ts'

/** How long a login must last to count as a success, in milliseconds. A page in a redirect loop loses it sooner. */
const minLoginLifeMs = 5_000

/** Within this time, in milliseconds, the logins of one page have one cause, such as an effect that StrictMode runs twice. */
const sameCauseMs = 5_000

/** How long a login without a click counts, in milliseconds. */
const automaticLoginWindowMs = 300_000

/** How many logins without a click may fail within `automaticLoginWindowMs`, because a third one would be a redirect loop. */
const maxAutomaticLogins = 2

const key = 'agent-auth:automatic'

export interface AutomaticLogin {
  readonly nowMs: number
  /** When the page began, as `performance.timeOrigin` says it. This tells pages apart. */
  readonly page: number
}

/**
 * Counts logins that start without a click. Rejects with `login_failed` if there were enough of them (`maxAutomaticLogins`, 2)
 * within `automaticLoginWindowMs`, 5 minutes, and none succeeded, because the next one is a redirect loop. A success counts once it
 * has lasted (`minLoginLifeMs`, 5 s). Logins of one page within `sameCauseMs`, 5 s, count as one. Rejects with `storage_failed` if it
 * cannot count.
 */
export async function countAutomatic(storage: TokenStorage, login: AutomaticLogin): Promise<void> {
  // The user clicked, touched or pressed a key in the last seconds, or the browser does not know.
  if (globalThis.navigator?.userActivation?.isActive !== false) return
  if (await bounded(() => count(storage, login))) return
  throw new AgentAuthError(
    'login_failed',
    'Automatic sign-in stopped after repeated logins without success. Call signIn() in a click handler.',
  )
}

async function count(storage: TokenStorage, { nowMs, page }: AutomaticLogin): Promise<boolean> {
  const [logins, succeededAt] = await read(storage)
  // The number before "@" is the time. The distance counts, because the clock may have been set back.
  const ageMs = (login: string): number => Math.abs(nowMs - Number.parseFloat(login))
  const hasLasted = succeededAt && ageMs(succeededAt) >= minLoginLifeMs
  const earlier = hasLasted ? [] : logins.split(' ').filter((login) => ageMs(login) < automaticLoginWindowMs)
  if (earlier.some((login) => login.endsWith(`@${page}`) && ageMs(login) < sameCauseMs)) return true
  if (earlier.length >= maxAutomaticLogins) return false
  await storage.setItem(key, [...earlier, `${nowMs}@${page}`].join(' '))
  return true
}

/** Stores the time of a successful login. The next count decides whether the login lasted. Rejects with `storage_failed`. */
export async function noteSuccess(storage: TokenStorage, nowMs: number): Promise<void> {
  await bounded(async () => {
    const [logins] = await read(storage)
    if (logins) await storage.setItem(key, `${logins}+${nowMs}`)
  })
}

/** Returns the counted logins, each as time and page, and the time of the success after them. */
async function read(storage: TokenStorage): Promise<[logins: string, succeededAt?: string]> {
  const [logins = '', succeededAt = ''] = ((await storage.getItem(key)) ?? '').split('+')
  return [logins, succeededAt]
}
