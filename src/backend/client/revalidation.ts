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
  // A call joins a read that has not begun (`waiting`), but not one in progress, because that may have begun before the change that the
  // call heard of. Otherwise it queues a read after the `latest` one.
  const run = (): Promise<void> => {
    latest = waiting ??= latest.then(readOnce)
    return latest
  }
  return run
}
