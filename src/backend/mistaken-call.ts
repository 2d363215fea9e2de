import type { BackendContext } from './context.ts'
import { errorResponse } from './responses.ts'

/** The members of a response of Node that a mistaken mount needs. */
interface NodeResponse {
  readonly headersSent: boolean
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown
  end(body: string): unknown
}

/**
 * Returns the response to a call of `handle` without a `Request`, and reports it. `second` is the second argument of the call:
 * if it is a response of Node, it is ended, because no other code would end it, and the browser would wait without a word.
 */
export async function answerMistakenCall(context: BackendContext, problem: string, second: unknown): Promise<Response> {
  const message = `Configuration: ${problem}.`
  context.setupProblems.reportCall(message)
  const response = errorResponse(500, { code: 'config_invalid', message })
  if (isNodeResponse(second)) await endNodeResponse(second, response.clone())
  return response
}

/** Ends a response of Node that has not begun. */
export async function endNodeResponse(target: NodeResponse, response: Response): Promise<void> {
  if (target.headersSent) return
  target.writeHead(response.status, Object.fromEntries(response.headers))
  target.end(await response.text())
}

export function isNodeResponse(value: unknown): value is NodeResponse {
  const { writeHead, end } = Object(value) as Partial<NodeResponse>
  return typeof writeHead === 'function' && typeof end === 'function'
}
