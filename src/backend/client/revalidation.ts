import { maxTimerMs } from '../../internal/limits.ts'

/**
 * Returns a function that reads once more, after a read in progress. Calls that wait for the same read share it. Each read is
 * repeated after the wait that it resolves with, in milliseconds, until the signal fires. `read` must not reject.
 */
export function revalidation(read: () => Promise<number>, signal: AbortSignal): () => Promise<void> {
  let latest = Promise.resolve()
  let waiting: Promise<void> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  const readOnce = async (): Promise<void> => {
    if (signal.aborted) return
    waiting = undefined
    clearTimeout(timer)
    timer = setTimeout(run, Math.min(await read(), maxTimerMs))
  }
  // A read in progress may have begun before the change that this call heard of. So both variables then hold the next read:
  // `waiting` until it begins, and `latest` until another one follows it.
  const run = (): Promise<void> => {
    latest = waiting ??= latest.then(readOnce)
    return latest
  }
  return run
}
