import { isAgentAuthError } from '../../errors.ts'
import { abortedError, type Deferred, deferred, withTimeout } from '../../internal/timeouts.ts'
import { attempt, invalid } from '../../internal/values.ts'
import type { SessionState } from '../../session/memory.ts'
import { restoredError, type Start, type ToPage, type ToWorker, type WorkerCalls } from '../worker/messages.ts'

/** How long a worker may take to load and to call `serveAuth`. */
const maxStartMs = 20_000

/** The worker of this page, once it has started. */
export type WorkerConnection = Awaited<ReturnType<typeof connectWorker>>

/** Starts the worker. Rejects with `config_invalid` if it does not load or answer, and with what is wrong with its options. */
export async function connectWorker(create: () => Worker, changed: (state: SessionState) => void) {
  const worker = attempt(create)
  if (typeof worker?.postMessage !== 'function') notStarted()
  const started = deferred<Start>()
  const calls = new Map<number, Deferred<never>>([[0, started as Deferred<never>]])
  let lastId = 0
  const send = (id: number, call: ToWorker['call'], given: readonly unknown[] = []): void =>
    worker.postMessage({ id, call, given } satisfies ToWorker)
  worker.addEventListener('error', started.reject)
  worker.addEventListener('message', ({ data }: MessageEvent<ToPage>) => {
    const { id = -1, result, error, state } = data
    if (state) changed(state)
    if (error) calls.get(id)?.reject(restoredError(error))
    else calls.get(id)?.resolve(result as never)
    calls.delete(id)
  })
  /** Makes a call. The signal ends it, and it rejects with the reason. */
  async function ask<K extends keyof WorkerCalls>(call: K, given: Parameters<WorkerCalls[K]>, signal?: AbortSignal) {
    const id = ++lastId
    const answer = deferred<Awaited<ReturnType<WorkerCalls[K]>>>()
    calls.set(id, answer as Deferred<never>)
    const abort = (): void => {
      send(id, 'abort')
      answer.reject(signal?.reason)
    }
    signal?.addEventListener('abort', abort)
    send(id, call, given)
    return answer.promise.finally(() => signal?.removeEventListener('abort', abort))
  }
  const start = await withTimeout(maxStartMs, started.promise).catch((error) => {
    worker.terminate()
    if (isAgentAuthError(error) && error.code !== 'timeout') throw error
    notStarted()
  })
  return {
    ...start,
    ask,
    /** Tells the worker that the page was away, and is back. */
    returned: () => send(0, 'returned'),
    close() {
      worker.terminate()
      for (const { reject } of calls.values()) reject(abortedError())
    },
  }
}

function notStarted(): never {
  invalid('the worker did not start. Check its URL, worker-src of the policy, and that its file calls serveAuth')
}
