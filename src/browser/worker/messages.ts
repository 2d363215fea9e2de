import { AgentAuthError, type AgentAuthErrorCode, type AgentAuthErrorOptions, isAgentAuthError } from '../../errors.ts'
import type { Grant } from '../../grant.ts'
import type { SessionState } from '../../session/memory.ts'

// All that a page and its worker send each other. None of it can hold a token or a verifier.

/** The calls of a page: what it gives, and the result. */
export interface Calls {
  ready: { given: undefined; result: undefined }
  /** Finishes the login of a callback at this address. */
  finish: { given: string; result: FinishedLogin }
  /** Starts a login, and returns the URL of the authorization server. */
  signIn: { given: { returnTo: string; params: Readonly<Record<string, string>> | undefined }; result: string }
  /** With a return URL, it returns the URL that ends the sign-in at the service. */
  signOut: { given: string | undefined; result: string | undefined }
  fetch: { given: SentRequest; result: ResponseHead }
}

/** How a login ended. Without a grant, its callback was refused. Only the worker can exchange the grant. */
export interface FinishedLogin {
  readonly grant?: Grant | undefined
  readonly error?: PlainError | undefined
}

export interface SentRequest {
  readonly url: string
  readonly init: RequestInit
}

export interface ResponseHead extends Pick<Response, 'status' | 'statusText' | 'url' | 'redirected' | 'type'> {
  readonly headers: [name: string, value: string][]
  readonly hasBody: boolean
}

/** `drained`: the page has read all of the body that it got. `returned`: the page was away, and is back. */
export type ToWorker =
  | {
      readonly [K in keyof Calls]: { readonly id: number; readonly call: K; readonly given: Calls[K]['given'] }
    }[keyof Calls]
  | { readonly id: number; readonly call: 'abort' | 'drained' | 'returned'; readonly given?: undefined }

/** What the page knows of the worker's configuration. */
export interface Hello {
  readonly baseUrl: string
  readonly redirectUri: string
}

/** The answer to a call. After the head of a response, each chunk of its body follows, and undefined at its end. */
export type Answer =
  | { readonly id: number; readonly result: Calls[keyof Calls]['result'] }
  | { readonly id: number; readonly error: PlainError }
  | { readonly id: number; readonly chunk: Uint8Array<ArrayBuffer> | undefined }

export type ToPage =
  | { readonly hello: Hello }
  | { readonly failed: PlainError }
  | { readonly state: SessionState }
  | Answer

/** How much of a body the worker sends before the page has read it, in bytes. */
export const maxAheadBytes = 262_144

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
