import { AgentAuthError, isAgentAuthError } from '../errors.ts'

/** Of a timer: a longer one would fire at once. */
const longestMs = 2_147_483_647

/**
 * Runs a task that must end by itself when its signal fires, and settles at the deadline even when it does not.
 * Rejects with `timeout` or, when `signal` fires first, `aborted`.
 */
export async function withDeadline<T>(
  timeoutMs: number,
  task: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  if (signal?.aborted) throw aborted()
  const controller = new AbortController()
  return abortable(within(timeoutMs, task(controller.signal)), signal).finally(() => controller.abort())
}

/** Settles as the work does, or at the deadline: the work goes on then. Rejects with `timeout`. */
export function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void =>
      reject(new AgentAuthError('timeout', `No answer within ${timeoutMs} ms.`, { retryable: true }))
    const timer = setTimeout(late, Math.min(timeoutMs, longestMs))
    work.then(
      (value) => {
        clearTimeout(timer)
        resolve(value)
      },
      (error) => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}

/** Ends only this wait when the signal fires; the work behind the promise goes on. Rejects with `aborted`. */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal | null | undefined): Promise<T> {
  if (!signal) return work
  return new Promise<T>((resolve, reject) => {
    const stop = (): void => reject(aborted())
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

/** Waits, unless the signal fires first. Rejects with `aborted`. */
export function sleep(waitMs: number, signal?: AbortSignal | null): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const wait = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(waitMs, longestMs))
  })
  return abortable(wait, signal).finally(() => clearTimeout(timer))
}

/** Settles with whether the work succeeded, once it is over. */
export function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}

/** Settles with whether the work succeeded; rejects with an error that is not of this library, which is a mistake in the program. */
export async function attempted(work: () => unknown): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    return false
  }
}

export function aborted(): AgentAuthError {
  return new AgentAuthError('aborted', 'The caller aborted the call.')
}
