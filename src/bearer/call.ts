import { sleep } from '../internal/timeouts.ts'
import { attempt } from '../internal/values.ts'
import { readAtMost } from '../token-endpoint/response.ts'
import { forbidden, type TargetOf } from './targets.ts'

type Sending = Parameters<typeof fetch>

/** A request that may carry the token, as it was when the caller made it. */
export interface Call {
  readonly first: Sending
  readonly headers: Headers
  readonly signal: AbortSignal | null | undefined
  readonly body: unknown
  /** Prepares the second request before the first is sent. */
  keep(): Kept
}

interface Kept {
  /** Resolves to the same request with the same bytes, or undefined if its body cannot be sent twice. */
  again(authorization: string): Promise<Sending | undefined>
  /** Frees the copy of the body. */
  release?(): void
}

const maxReplayBytes = 1_048_576

/** Returns undefined for a request that must not carry the token. */
export function callOf(targetOf: TargetOf, input: Sending[0], init: RequestInit | undefined): Call | undefined {
  const url = targetOf(input)
  if (url === undefined) return undefined
  const isRequest = input instanceof Request
  if (!isRequest && isPlain(init)) return settingsCall(url, init)
  const request = new Request(isRequest ? input : url, init)
  // The Request of the caller can show another URL than its own.
  if (targetOf(request) === undefined) throw forbidden('The Request must have the URL that it shows.')
  return requestCall(request)
}

function isPlain(init: RequestInit | null | undefined): boolean {
  const prototype = Object.getPrototypeOf(init ?? {})
  return prototype === Object.prototype || prototype === null
}

/** Sends the settings of the caller with the checked URL. Text, bytes, Blob, FormData and URLSearchParams of any size can be sent twice. */
function settingsCall(url: string, init: RequestInit | undefined): Call {
  const settings = { ...init }
  const headers = new Headers(settings.headers)
  settings.headers = headers
  const { body, signal } = settings
  const copy = copyOf(body)
  if (copy != null) settings.body = copy
  const first: Sending = [url, settings]
  async function again(authorization: string): Promise<Sending | undefined> {
    headers.set('authorization', authorization)
    return body != null && copy === undefined ? undefined : first
  }
  return { first, headers, signal, body, keep: () => ({ again }) }
}

/** Returns a body that the caller cannot change later, or undefined if there is none. A detached buffer is left to the platform. */
function copyOf(body: RequestInit['body']): RequestInit['body'] {
  if (body == null || typeof body === 'string' || body instanceof Blob) return body
  if (body instanceof ArrayBuffer) return attempt(() => body.slice(0))
  if (ArrayBuffer.isView(body))
    return attempt(() => new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice())
  if (body instanceof URLSearchParams) return fieldsOf(body, new URLSearchParams())
  return body instanceof FormData ? fieldsOf(body, new FormData()) : undefined
}

/** Copies field by field, because outside of browsers these constructors may not accept each other, or have no iterator. */
function fieldsOf<T extends URLSearchParams | FormData>(body: T, copy: T): T | undefined {
  if (!(Symbol.iterator in body)) return undefined
  for (const [name, value] of body as Iterable<[string, FormDataEntryValue]>) copy.append(name, value as string)
  return copy
}

/** Sends the Request. It can be sent twice if its body has ended when the 401 comes, and is at most 1 MiB. */
function requestCall(request: Request): Call {
  const { headers, signal, body } = request
  return {
    first: [request],
    headers,
    signal,
    body,
    keep() {
      const spare = body === null ? request : request.clone()
      const reader = spare.body?.getReader()
      const bytes = reader && readAtMost(reader, maxReplayBytes).catch(() => undefined)
      return {
        async again(authorization) {
          // Not awaited to its end, because a 401 can come while the caller still writes the body.
          const copy = bytes && (await Promise.race([bytes, sleep(0)]))
          if (bytes && !copy) return undefined
          const { referrer, referrerPolicy } = spare
          const next = copy ? new Request(spare, { body: copy, referrer, referrerPolicy }) : spare
          next.headers.set('authorization', authorization)
          return [next]
        },
        release() {
          reader?.cancel().catch(() => {})
        },
      }
    },
  }
}
