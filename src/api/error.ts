import { AgentAuthError, type AgentAuthErrorCode, isAgentAuthError } from '../errors.ts'

/** The codes with which calls of the API reject, besides those that the given `fetch` rejects with. */
export type AgentApiErrorCode = Extract<
  AgentAuthErrorCode,
  | 'unauthenticated'
  | 'client_not_approved'
  | 'permission_missing'
  | 'validation_failed'
  | 'request_failed'
  | 'response_invalid'
  | 'response_too_large'
  | 'timeout'
>

/** One fault of a request. Specification section 7. */
export interface ValidationFault {
  /** Where the fault is, for example `['body', 'limit']`. */
  readonly loc: readonly (string | number)[]
  /** What is wrong, in the words of the service. Show it as text only. */
  readonly msg: string
  /** The kind of fault. */
  readonly type: string
  /** The value that was refused. It may be personal data. */
  readonly input?: unknown
  /** More about the rule. */
  readonly ctx?: Readonly<Record<string, unknown>>
}

/** What the API sent. It may quote the request, so an error keeps it where no log sees it. */
export interface ReceivedResponse {
  /** The response, whose body has been read. */
  readonly response?: Response | undefined
  /** The text of the body. */
  readonly body?: string | undefined
  /** The `error_type` of the envelope. */
  readonly errorType?: string | undefined
  /** The `error_message` of the envelope. */
  readonly errorMessage?: string | undefined
  /** The faults of a 422. */
  readonly faults?: readonly ValidationFault[] | undefined
}

/** The members of an API error besides its code and message. */
export interface AgentApiErrorOptions {
  /** Default `false`. */
  readonly retryable?: boolean | undefined
  /** How long the server asks to wait, in milliseconds. */
  readonly retryAfterMs?: number | undefined
  /** What the API sent. */
  readonly received?: ReceivedResponse | undefined
}

/**
 * A call of the API that failed. `code` says how; `status` and `details.retryAfterMs` are there if the API sent them. What
 * else the API sent is reachable, but never part of the message, of JSON or of what is printed.
 */
export class AgentApiError extends AgentAuthError {
  /** What happened. Branch on this. */
  declare readonly code: AgentApiErrorCode
  static {
    // Node prints the getters of a class if it is told to, but not those of a class with the name of a built-in one.
    Object.defineProperty(AgentApiError, 'name', { value: 'Error' })
  }

  /** What the getters read. A function, so that nothing prints it, and no private member, which a JS Proxy would not reach. */
  declare private readonly received: () => ReceivedResponse

  constructor(
    code: AgentApiErrorCode,
    message: string,
    { retryable, retryAfterMs, received = {} }: AgentApiErrorOptions = {},
  ) {
    const { response } = received
    const details = retryAfterMs === undefined ? undefined : { retryAfterMs }
    super(code, message, { retryable, status: response?.status, details })
    Object.defineProperty(this, 'received', { value: () => received, configurable: true })
  }

  /** The header `x-request-id` of the response, for the operator of the API. */
  get requestId(): string | undefined {
    return this.received().response?.headers.get('x-request-id') ?? undefined
  }

  /** The response, for its headers and URL. Its body has been read: see `body`. */
  get response(): Response | undefined {
    return this.received().response
  }

  /** The text of the response's body. Absent if it was too long or broke off. It may quote the request. */
  get body(): string | undefined {
    return this.received().body
  }

  /** The `error_type` of the envelope. Specification section 2.1. */
  get errorType(): string | undefined {
    return this.received().errorType
  }

  /** The `error_message` of the envelope. Show it as text only. Specification section 2.1. */
  get errorMessage(): string | undefined {
    return this.received().errorMessage
  }

  /** The faults of a `validation_failed`, in the order of the service; otherwise empty. */
  get faults(): readonly ValidationFault[] {
    return this.received().faults ?? []
  }

  /**
   * Returns the messages of the faults by field, for a form. A field is the location without a leading `body`, joined by
   * dots: `agent_name` or `filters.0.column`. A fault of the whole body is under `body`.
   */
  fieldErrors(): Readonly<Record<string, readonly string[]>> {
    // Without a prototype, so that no field name can reach an inherited member.
    const fields: Record<string, string[]> = Object.create(null)
    for (const { loc, msg } of this.faults) {
      const name = loc.join('.').replace(/^body\./, '')
      fields[name] = [...(fields[name] ?? []), msg]
    }
    return fields
  }
}

/** Returns whether a value is an error of an API call, also when it comes from another copy of the library. */
export function isAgentApiError(value: unknown): value is AgentApiError {
  return isAgentAuthError(value) && 'fieldErrors' in value
}

/** Whether a call changes data. A read, also a search by POST, can be repeated without harm. */
export type Effect = 'read' | 'write'

/** A call that failed. */
export interface Failure {
  readonly code: AgentApiErrorCode
  /** What happened, as a sentence. */
  readonly what: string
  /** Whether the cause may be over a moment later. */
  readonly isPassing: boolean
  /** Whether the API may have carried out the request. */
  readonly isUnclear: boolean
  readonly received?: ReceivedResponse | undefined
  readonly retryAfterMs?: number | undefined
}

/** Returns the error of a failed call, whose message ends with what to do. */
export function failureOf(effect: Effect, failure: Failure): AgentApiError {
  const { code, what, isPassing, isUnclear } = failure
  const mayHaveWritten = isUnclear && effect === 'write'
  const retryable = isPassing && !mayHaveWritten
  const advice = mayHaveWritten ? ' The request may have been carried out.' : retryable ? ' Try again later.' : ''
  return new AgentApiError(code, what + advice, { ...failure, retryable })
}
