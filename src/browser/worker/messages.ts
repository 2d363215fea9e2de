import type { AuthConfig } from '../../config.ts'
import { AgentAuthError, type AgentAuthErrorCode, type AgentAuthErrorOptions, isAgentAuthError } from '../../errors.ts'
import type { Grant } from '../../grant.ts'
import type { SessionState } from '../../session/memory.ts'

/** What a page can ask of its worker. No argument and no result can hold a token or a verifier. */
export interface WorkerCalls {
  ready(): Promise<void>
  /** Finishes the login of a callback at this address. Without a grant the callback was refused. Only the worker can exchange it. */
  finish(address: string): Promise<{ grant?: Grant | undefined; error?: PlainError | undefined }>
  /** Starts a login, and returns the URL of the authorization server. */
  signIn(returnTo: string, params: Readonly<Record<string, string>> | undefined): Promise<string>
  /** With a return URL, it returns the URL that ends the sign-in at the service. */
  signOut(returnTo: string | undefined): Promise<string | undefined>
  fetch(url: string, init: RequestInit, signal?: AbortSignal): Promise<ResponseParts>
}

export interface ResponseParts extends Pick<Response, 'status' | 'statusText' | 'url' | 'redirected' | 'type'> {
  readonly headers: [name: string, value: string][]
  readonly body: ReadableStream | ArrayBuffer | null
}

/** A call, the end of a call that was made before, or the news that the page was away and is back. */
export interface ToWorker {
  readonly id: number
  readonly call: keyof WorkerCalls | 'abort' | 'returned'
  readonly given: readonly unknown[]
}

/** The answer to a call, and the state if it has changed. The worker answers the call 0, its start, unasked with a `Start`. */
export interface ToPage {
  readonly id?: number
  readonly result?: unknown
  readonly error?: PlainError
  readonly state?: SessionState | undefined
}

export type Start = Pick<AuthConfig, 'baseUrl' | 'redirectUri'>

/** The members of an error, because a message keeps only its text. Without a code, `fetch` got no response. */
export interface PlainError extends AgentAuthErrorOptions {
  readonly code?: AgentAuthErrorCode
  readonly message: string
}

/** Returns the members of an error of this library. Another one is replaced, because it can quote what it was given. */
export function plainError(error: unknown): PlainError {
  if (!isAgentAuthError(error)) return { message: 'Failed to fetch' }
  const { code, message, retryable, status, details } = error
  return { code, message, retryable, status, details }
}

/** Returns the error with these members. */
export function restoredError({ code, message, ...options }: PlainError): Error {
  return code ? new AgentAuthError(code, message, options) : new TypeError(message)
}
