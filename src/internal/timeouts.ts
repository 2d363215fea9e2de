import { AgentAuthError, isAgentAuthError } from '../errors.ts'

/** Waits after failures: the first one, and the longest one after doubling. */
export const firstBackoffMs = 500
export const maxBackoffMs = 30_000
/** The longest wait of a platform timer. A longer one would fire at once. */
export const maxTimerMs = 2_147_483_647

/**
 * Runs a task and aborts its signal at the deadline. Settles then even if the task does not. Rejects with `timeout`, or with `aborted` if
 * `signal` fires first.
 */
export async function withDeadline<T>(
  timeoutMs: number,
  task: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  if (signal?.aborted) throw abortedError()
  const controller = new AbortController()
  return abortable(withTimeout(timeoutMs, task(controller.signal)), signal).finally(() => controller.abort())
}

/**
 * Settles as the work does, or rejects with `timeout` at the deadline. The work continues
 * then.
 */
export function withTimeout<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    const expire = (): void =>
      reject(new AgentAuthError('timeout', `No response within ${timeoutMs} ms.`, { retryable: true }))
    timer = setTimeout(expire, Math.min(timeoutMs, maxTimerMs))
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

/** Settles as the work does, or rejects with `aborted` if the signal fires. The work continues then. */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal | null | undefined): Promise<T> {
  if (!signal) return work
  return new Promise<T>((resolve, reject) => {
    const stop = (): void => reject(abortedError())
    // First, so that a rejection is handled also if the signal is none.
    work.then(resolve, reject).finally(() => signal.removeEventListener?.('abort', stop))
    if (signal.aborted) stop()
    // `once`, because Node 20 keeps a signal of `AbortSignal.any` in memory while it has a listener, and `sleep` never settles after it.
    signal.addEventListener('abort', stop, { once: true })
  })
}

/** Waits, unless the signal fires first. Rejects with `aborted`. */
export function sleep(waitMs: number, signal?: AbortSignal | null): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const wait = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, waitMs)
  })
  return abortable(wait, signal).finally(() => clearTimeout(timer))
}

/**
 * Returns a random wait between half of a cap and the cap, which doubles with each failure from `firstBackoffMs`, 500 ms, to
 * `maxBackoffMs`, 30 s. `failures` counts from 1.
 */
export function backoffMs(failures: number): number {
  const capMs = Math.min(firstBackoffMs * 2 ** (failures - 1), maxBackoffMs)
  return capMs * (1 - randomFraction() / 2)
}

/** Returns a random number from 0 up to, but not including, 1. */
export function randomFraction(): number {
  const [value = 0] = crypto.getRandomValues(new Uint32Array(1))
  return value / 2 ** 32
}

/** A promise that others settle. */
export interface Deferred<T> {
  readonly promise: Promise<T>
  resolve(value: T): void
  reject(error: unknown): void
}

export function deferred<T>(): Deferred<T> {
  let resolve: Deferred<T>['resolve'] = () => {}
  let reject: Deferred<T>['reject'] = () => {}
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { promise, resolve, reject }
}

/** Resolves to whether the work succeeded. Any error means that it did not. */
export function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}

/** Throws an error that is not of this library, because that is a bug. To be given to `catch`. */
export function throwBug(error: unknown): void {
  if (!isAgentAuthError(error)) throw error
}

export function abortedError(): AgentAuthError {
  return new AgentAuthError('aborted', 'The caller aborted the call.')
}
