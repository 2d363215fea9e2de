import { AgentAuthError } from '../../errors.ts'
import { maxBrowserSilenceMs } from '../../internal/limits.ts'
import { once } from '../once.ts'

/** Called once when no more of a response is sent. `interruption` is set if the API is the reason. */
export type OnResponseEnd = (how: 'complete' | 'broken', interruption?: unknown) => void

/**
 * Passes the body of a response on, one chunk at a time. If the API sends nothing or the browser reads nothing for too long,
 * the response ends.
 */
export function relayBody(
  body: ReadableStream<Uint8Array>,
  maxApiSilenceMs: number,
  onEnd: OnResponseEnd,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let timer: ReturnType<typeof setTimeout> | undefined
  let state: 'open' | 'ended' = 'open'
  // Ending a response aborts the request, which fails the read in progress. Only the first reason counts.
  const end: OnResponseEnd = once((how, interruption) => {
    state = 'ended'
    clearTimeout(timer)
    onEnd(how, interruption)
  })
  const fail = (controller: ReadableStreamDefaultController, interruption?: unknown): void => {
    // The error of a connection may quote the bytes that it carried, so the browser's stream gets another one.
    controller.error(new Error('The response of the API ended early.'))
    end('broken', interruption)
  }
  const waitFor = (side: 'api' | 'browser', controller: ReadableStreamDefaultController): void => {
    clearTimeout(timer)
    timer =
      side === 'api'
        ? setTimeout(() => fail(controller, apiSilence(maxApiSilenceMs)), maxApiSilenceMs)
        : setTimeout(() => fail(controller), maxBrowserSilenceMs)
  }
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => waitFor('browser', controller),
      async pull(controller) {
        waitFor('api', controller)
        try {
          const { done, value } = await reader.read()
          if (state === 'ended') return
          waitFor('browser', controller)
          if (value) return controller.enqueue(value)
          if (done) controller.close()
          end('complete')
        } catch (error) {
          fail(controller, error)
        }
      },
      cancel: () => end('broken'),
    },
    { highWaterMark: 0 },
  )
}

function apiSilence(maxApiSilenceMs: number): AgentAuthError {
  return new AgentAuthError('timeout', `The API sent nothing for ${maxApiSilenceMs / 1_000} s within a response.`)
}
