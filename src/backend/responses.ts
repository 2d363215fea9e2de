import type { AgentAuthError, AgentAuthErrorCode } from '../errors.ts'

export interface AnswerOptions {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** `Set-Cookie` lines. */
  readonly cookies?: readonly string[]
}

/** What is answered depends on who asks: no cache keeps it, and no other site reads it. */
export function answer(body: BodyInit | null, { status = 200, headers = {}, cookies = [] }: AnswerOptions): Response {
  const response = guarded(new Response(body, { status, headers }))
  for (const line of cookies) response.headers.append('set-cookie', line)
  return response
}

/** Sets what every answer that depends on a session must carry. */
export function guarded(response: Response): Response {
  const { headers } = response
  const varies = headers.get('vary')
  headers.set('cache-control', 'no-store')
  headers.set('vary', varies ? `${varies}, Cookie` : 'Cookie')
  headers.set('x-content-type-options', 'nosniff')
  headers.set('cross-origin-resource-policy', 'same-origin')
  headers.set('referrer-policy', 'no-referrer')
  return response
}

export function json(value: unknown, options: AnswerOptions = {}): Response {
  const headers = { 'content-type': 'application/json', ...options.headers }
  return answer(JSON.stringify(value), { ...options, headers })
}

export interface Failure {
  readonly code: AgentAuthErrorCode
  readonly message: string
  readonly retryable?: boolean
  readonly retryAfterMs?: number | undefined
}

/** `{ code, message, retryable }`, with `Retry-After` where trying again makes sense. */
export function failed(status: number, failure: Failure, cookies: readonly string[] = []): Response {
  const { code, message, retryable = false, retryAfterMs = 1_000 } = failure
  const headers = retryable ? { 'retry-after': String(Math.ceil(retryAfterMs / 1_000)) } : {}
  return json({ code, message, retryable }, { status, headers, cookies })
}

/** An error of the session or the store as an answer; only a session that is over is a 401. */
export function failedWith(error: AgentAuthError, cookies: readonly string[] = []): Response {
  const { code, message, retryable, details } = error
  return failed(statusOf(code), { code, message, retryable, retryAfterMs: details?.retryAfterMs }, cookies)
}

/** 401: sign in again. 503: the same request may succeed later. 502: somebody must mend something. */
export function statusOf(code: AgentAuthErrorCode): number {
  if (/^(login_required|session_ended)$/.test(code)) return 401
  if (/^(storage_failed|temporarily_unavailable|timeout|lock_timeout|session_changed|aborted)$/.test(code)) return 503
  return 502
}
