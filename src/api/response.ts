import { maxRefusalBytes } from '../internal/limits.ts'
import { objectOf, parseObject } from '../internal/values.ts'
import { readTextAtMost, retryAfterMs } from '../token-endpoint/response.ts'
import { type Effect, type Failure, failureOf, type ReceivedResponse, type ValidationFault } from './error.ts'

type Json = Record<string, unknown>

/** What an endpoint says of its responses. */
export interface Expected {
  readonly effect: Effect
  /** Whether `data` has the shape that the specification gives. */
  matches(data: Json): boolean
}

/**
 * Resolves to the `data` of a success. Rejects for all else, also for `success: false` with status 200. Reads no member that the
 * specification does not give. Specification sections 2.1 and 7.
 */
export async function readResponse(
  response: Response,
  { effect, matches }: Expected,
  { maxBytes, nowMs }: { maxBytes: number; nowMs: number },
): Promise<Json> {
  const { status, ok, headers } = response
  const body = await readBody(response, ok ? maxBytes : maxRefusalBytes)
  const value = parseObject(body ?? '') ?? {}
  const data = objectOf(value.data)
  if (ok && value.success === true && data && matches(data)) return data
  const received = receivedFrom(response, body ?? undefined, value)
  const isSuccess = ok && value.success !== false
  const [code, what] = isSuccess ? defect(body) : refusal(status, received)
  throw failureOf(effect, {
    code,
    // A page is not told the status of a redirect.
    what: `The API responded with ${status || 'a redirect'}${what}.`,
    isPassing: [429, 502, 503, 504].includes(status) || (isSuccess && body === undefined),
    isUnclear: isSuccess || status >= 500,
    received,
    retryAfterMs: retryAfterMs(headers.get('retry-after'), nowMs),
  })
}

/** Resolves to null for a body that is too large, and to undefined for one that breaks off. */
function readBody(response: Response, maxBytes: number): Promise<string | null | undefined> {
  return readTextAtMost(response, maxBytes).then(
    (text) => text ?? null,
    () => undefined,
  )
}

function receivedFrom(response: Response, body: string | undefined, value: Json): ReceivedResponse {
  const { error_type: errorType, error_message: errorMessage, detail } = value
  return {
    response,
    body,
    errorType: isText(errorType) ? errorType : undefined,
    errorMessage: isText(errorMessage) ? errorMessage : undefined,
    faults: response.status === 422 && Array.isArray(detail) ? detail.filter(isFault) : undefined,
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isFault(item: unknown): item is ValidationFault {
  const { loc, msg, type } = Object(item)
  const isPlace = (part: unknown): boolean => /string|number/.test(typeof part)
  return Array.isArray(loc) && loc.every(isPlace) && isText(msg) && isText(type)
}

type Verdict = [code: Failure['code'], what: string]

function defect(body: string | null | undefined): Verdict {
  if (body === undefined) return ['request_failed', ' and a body that broke off']
  if (body === null) return ['response_too_large', ' and a body larger than maxBytes']
  return ['response_invalid', ' and an unexpected body. Check baseUrl']
}

/** The body of a 403 has no specified shape, but its two texts are specified, so they are searched in the whole of it. */
function refusal(status: number, { body = '', errorMessage }: ReceivedResponse): Verdict {
  if (status === 401)
    return ['unauthenticated', '. Sign in again, or pass auth.fetch or createBearerFetch of this baseUrl']
  if (status === 422) return ['validation_failed', '. See faults or fieldErrors()']
  if (status === 403 && /OAuth client is not approved/i.test(body))
    return ['client_not_approved', '. An admin must approve this client']
  if (status === 403 && /missing permission/i.test(body))
    return ['permission_missing', '. An admin must grant the permission']
  if (status === 404) return ['request_failed', '. Check baseUrl. See errorMessage']
  if (status === 0 || (status >= 300 && status < 400))
    return ['request_failed', '. Redirects are not followed. Check baseUrl']
  if (status < 300) return ['request_failed', ' and success: false. See errorType']
  return ['request_failed', errorMessage ? '. See errorMessage' : '']
}
