import { AgentAuthError } from '../../errors.ts'
import { maxBrowserSilenceMs } from '../../internal/limits.ts'
import type { MaybePromise } from '../../storage/token-storage.ts'
import { once } from '../once.ts'

/** Called once when no more of a response is sent. `interruption` is set if the API or the end of the session is the reason. */
export type OnResponseEnd = (how: 'complete' | 'broken', interruption?: unknown) => void

export interface RelayOptions {
  /** How long the API may send nothing. */
  readonly maxApiSilenceMs: number
  /** Asked before each chunk is passed on. */
  hasSessionEnded(): MaybePromise<boolean>
  readonly onEnd: OnResponseEnd
}

/**
 * Passes the body of a response on, one chunk at a time. If the API sends nothing for the `timeoutMs` of the route, the browser reads
 * nothing (`maxBrowserSilenceMs`, 2 minutes), or the session has ended (session-check.ts), the connection breaks off.
 */
export function relayBody(
  body: ReadableStream<Uint8Array>,
  { maxApiSilenceMs, hasSessionEnded, onEnd }: RelayOptions,
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
          // The API has answered. The check may read a storage, which has a time limit of its own.
          clearTimeout(timer)
          const isSessionOver = value !== undefined && (await hasSessionEnded())
          if (state === 'ended') return
          if (isSessionOver) return fail(controller, sessionOver())
          waitFor('browser', controller)
          if (!done) return controller.enqueue(value)
          controller.close()
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

function sessionOver(): AgentAuthError {
  return new AgentAuthError('session_ended', 'The session ended, so the rest of its response is not passed on.')
}

function apiSilence(maxApiSilenceMs: number): AgentAuthError {
  return new AgentAuthError('timeout', `The API sent nothing for ${maxApiSilenceMs / 1_000} s within a response.`)
}
