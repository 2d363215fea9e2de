import type { AuthConfig } from '../config.ts'
import { type AgentAuthError, type AgentAuthErrorCode, isAgentAuthError } from '../errors.ts'
import { attempt } from '../internal/attempt.ts'
import { present } from '../internal/present.ts'

/**
 * What an event tells of an error. The message is there only for errors of this library: any other message may quote a
 * header, a body, a URL or a stored record.
 */
export interface ErrorCause {
  /** The class, such as `TypeError`; `Error` for a name that is no name of a class, a type for a value that is no error. */
  readonly name: string
  /** Such as `ECONNREFUSED`, or a code of this library. */
  readonly code?: AgentAuthErrorCode | (string & {})
  /** A text of this library. It quotes no other error. */
  readonly message?: string
  /** The innermost five places in the code. */
  readonly stack?: readonly string[]
  /** What caused this error. */
  readonly cause?: ErrorCause
}

const maxFrames = 5

/** Never throws, whatever the members of the error do. */
export function causeOf(error: unknown): ErrorCause {
  return attempt(() => described(error, 0)) ?? { name: 'Error' }
}

/** Returns the cause of a request that got no response. Its message names the origin and the option to check. */
export function unreachedCause(error: unknown, url: string, option: string): ErrorCause {
  return { ...causeOf(error), message: `${new URL(url).origin} gave no response. Check ${option}.` }
}

/** Returns the cause of an error of the session or the exchange if the token endpoint was not reached. */
export function tokenEndpointCause(
  { tokenEndpoint }: Pick<AuthConfig, 'tokenEndpoint'>,
  error: AgentAuthError,
): ErrorCause | undefined {
  if (error.details?.outcome !== 'not_sent') return undefined
  return unreachedCause(error, tokenEndpoint, 'authUrl and tokenEndpoint')
}

function described(error: unknown, depth: number): ErrorCause {
  if (isAgentAuthError(error)) return { name: 'AgentAuthError', code: error.code, message: error.message }
  if (!(error instanceof Error)) return { name: typeof error }
  const { name, code, cause } = error as Error & { code?: unknown }
  return present<ErrorCause>({
    name: /^[A-Z][A-Za-z]{0,60}(Error|Exception|Failed)$/.test(name) ? name : 'Error',
    code: typeof code === 'string' && /^[A-Z\d_]{3,40}$/.test(code) ? code : undefined,
    stack: framesOf(error),
    // undici and databases wrap the error of the connection.
    cause: cause === undefined || depth > 1 ? undefined : described(cause, depth + 1),
  })
}

/** Only what follows the message: without the exact message in its place, no line can be told from a part of one. */
function framesOf({ message, stack = '' }: Error): readonly string[] | undefined {
  const [header = ''] = /^[\w$.]*(\s\[\w+\])?(: )?/.exec(stack) ?? []
  if (!stack.startsWith(`${message}\n    at `, header.length)) return undefined
  const lines = stack.slice(header.length + message.length + 1).split('\n')
  return lines
    .map((line) => line.trim())
    .filter((line) => /^at [^?#]{1,200}:\d+:\d+\)?$/.test(line))
    .slice(0, maxFrames)
}
