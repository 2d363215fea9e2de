import { allowedTargets, type TargetOf } from '../../bearer/targets.ts'
import { isAgentAuthError } from '../../errors.ts'
import { abortedError, deferred, withTimeout } from '../../internal/timeouts.ts'
import { attempt, invalid } from '../../internal/values.ts'
import type { SessionState } from '../../session/memory.ts'
import { type Answer, type Calls, type Hello, restoredError, type ToPage, type ToWorker } from '../worker/messages.ts'

/** How long a worker may take to load and to call `serveAuth`. */
const maxStartMs = 20_000

/** A call that the worker has not answered to its end. */
export interface OpenCall {
  send(call: 'abort' | 'drained'): void
  /** Answers that still come are discarded. */
  end(): void
}

/** The worker of this page, once it has started. */
export interface WorkerConnection {
  /** Says which requests go to the worker. */
  readonly targetOf: TargetOf
  /** Makes a call. `answered` gets each part of the answer until the call ends. */
  open<K extends keyof Calls>(call: K, given: Calls[K]['given'], answered: (answer: Answer) => void): OpenCall
  /** Makes a call whose answer has one part. */
  ask<K extends keyof Calls>(call: K, given: Calls[K]['given']): Promise<Calls[K]['result']>
  /** Tells the worker that the page was away, and is back. */
  returned(): void
  close(): void
}

/** Starts the worker. Rejects with `config_invalid` if it does not load or answer, and with what `serveAuth` throws. */
export async function connectWorker(
  create: () => Worker,
  { redirectUri, changed }: { redirectUri: string; changed: (state: SessionState) => void },
): Promise<WorkerConnection> {
  const calls = new Map<number, (answer: Answer) => void>()
  const { promise: hello, resolve, reject } = deferred<Hello>()
  const worker = attempt(create)
  if (typeof worker?.postMessage !== 'function') notStarted()
  let lastId = 0
  const send = (message: ToWorker): void => worker.postMessage(message)
  worker.addEventListener('error', reject)
  worker.addEventListener('message', ({ data }: MessageEvent<ToPage>) => {
    if ('hello' in data) resolve(data.hello)
    else if ('failed' in data) reject(restoredError(data.failed))
    else if ('state' in data) changed(data.state)
    else calls.get(data.id)?.(data)
  })
  const open: WorkerConnection['open'] = (call, given, answered) => {
    const id = ++lastId
    calls.set(id, answered)
    send({ id, call, given } as ToWorker)
    return { send: (call) => send({ id, call }), end: () => calls.delete(id) }
  }
  try {
    const { baseUrl, redirectUri: own } = await withTimeout(maxStartMs, hello)
    if (own !== redirectUri) invalid('redirectUri must be that of serveAuth')
    return {
      targetOf: allowedTargets({ baseUrl }),
      open,
      ask: (call, given) =>
        new Promise((settle, fail) => {
          const { end } = open(call, given, (answer) => {
            end()
            if ('error' in answer) fail(restoredError(answer.error))
            else if ('result' in answer) settle(answer.result as never)
          })
        }),
      returned: () => send({ id: 0, call: 'returned' }),
      close() {
        worker.terminate()
        for (const [id, answered] of [...calls]) answered({ id, error: abortedError() })
      },
    }
  } catch (error) {
    worker.terminate()
    throw isAgentAuthError(error) && error.code !== 'timeout' ? error : notStarted()
  }
}

function notStarted(): never {
  invalid('the worker did not start. Check its URL, worker-src of the policy, and that its file calls serveAuth')
}
