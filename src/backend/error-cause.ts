import { type AgentAuthError, type AgentAuthErrorCode, isAgentAuthError } from '../errors.ts'
import { attempt, present } from '../internal/values.ts'

/** A chain of causes may be endless. */
const maxWrappedCauses = 2
/** Enough to find a defect, and still one line of a log each. */
const maxCausePlaces = 5

/**
 * What an event reports of an error. It has only messages of this library, because any other message may quote a header, a
 * body, a URL or a stored record.
 */
export interface ErrorCause {
  /** The class, such as `TypeError`. `Error` if the name is not that of a class; the type if the value is not an error. */
  readonly name: string
  /** A code such as `ECONNREFUSED`, or one of this library. */
  readonly code?: AgentAuthErrorCode | (string & {})
  /** A text of this library. It quotes no other error. */
  readonly message?: string
  /** The innermost places in the code. */
  readonly stack?: readonly string[]
  /** What caused this error. */
  readonly cause?: ErrorCause
}

/** Returns what an event says of this error, as its `cause`. Never throws, even if members of the error do. */
export function causeOf(error: unknown): ErrorCause {
  return attempt(() => described(error, 0)) ?? { name: 'Error' }
}

/** Returns the cause of a request that got no response. Its message names the origin and the option to check. */
export function unreachedCause(error: unknown, url: string, option: string): ErrorCause {
  return { ...causeOf(error), message: `${new URL(url).origin} gave no response. Check that it runs, and ${option}.` }
}

/** Returns the cause of an error if the token endpoint did not respond. Its message names the origin. */
export function tokenEndpointCause(error: AgentAuthError): ErrorCause | undefined {
  return hasNoTokenResponse(error) ? causeOf(error) : undefined
}

/**
 * Returns whether a token request got no response, also because it was not sent (`not_sent`). The error of a response that was too large
 * has no status either, but there was a response.
 */
export function hasNoTokenResponse({ code, status, details }: AgentAuthError): boolean {
  return details?.outcome !== undefined && status === undefined && code !== 'response_too_large'
}

function described(error: unknown, depth: number): ErrorCause {
  if (isAgentAuthError(error)) return { name: 'AgentAuthError', code: error.code, message: error.message }
  if (!(error instanceof Error)) return { name: typeof error }
  const { name, code, cause } = error as Error & { code?: unknown }
  return present<ErrorCause>({
    name: /^[A-Z][A-Za-z]{0,60}(Error|Exception|Failed)$/.test(name) ? name : 'Error',
    code: typeof code === 'string' && /^[A-Z\d_]{3,40}$/.test(code) ? code : undefined,
    stack: framesOf(error),
    // undici and database clients wrap the error of the connection.
    cause: cause === undefined || depth >= maxWrappedCauses ? undefined : described(cause, depth + 1),
  })
}

/**
 * Returns the lines of the stack that name places in the code. The stack has to begin with the class, perhaps a code in brackets, and the
 * exact message, as in `TypeError [ERR_X]: message`. Otherwise it returns undefined, because any line may be a part of a message.
 */
function framesOf({ message, stack = '' }: Error): readonly string[] | undefined {
  const [header = ''] = /^[\w$.]*(\s\[\w+\])?(: )?/.exec(stack) ?? []
  if (!stack.startsWith(`${message}\n    at `, header.length)) return undefined
  const lines = stack.slice(header.length + message.length + 1).split('\n')
  return lines
    .map((line) => line.trim())
    .filter((line) => /^at [^?#]{1,200}:\d+:\d+\)?$/.test(line))
    .slice(0, maxCausePlaces)
}
