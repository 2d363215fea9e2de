import { AgentAuthError } from '../errors.ts'
import { parseObject } from '../internal/values.ts'

/** The longest wait that `Retry-After` can ask for, in milliseconds, so that a wrong header does not stop an app for a day. */
const maxRetryAfterMs = 300_000

/** How much of a token response is read, in bytes after decompression. Two tokens of the greatest length fit. */
const maxTokenResponseBytes = 262_144

/**
 * The dates of `Retry-After`, without the form of `asctime`, which no server may send. Checked, because `Date.parse` finds a date in
 * nearly any text. RFC 9110 section 5.6.7.
 */
const httpDate = /^\w+, [\w -]+ [\d:]+ GMT$/

/** A response of the token endpoint. `body` is set if the response was one JSON object. tokens.ts reads its fields. */
export interface TokenResponse {
  readonly status: number
  /**
   * `foreign` if the media type is not JSON. A response without a media type counts as JSON.
   */
  readonly media: 'json' | 'foreign'
  /** Set if the response is from another URL, or an opaque redirect to one. */
  readonly moved?: boolean
  readonly mistake?: undefined
  readonly body?: Record<string, unknown> | undefined
  readonly retryAfter?: string | null
}

/**
 * Reads a bounded JSON body. A parser's error goes no further, because it
 * quotes what was read. Rejects with `response_too_large`.
 */
export async function readTokenResponse(response: Response, requested: string): Promise<TokenResponse> {
  const { status, headers, url, redirected, type } = response
  const retryAfter = headers.get('retry-after')
  const mediaType = headers.get('content-type')
  // An opaque redirect has status 0. A fetch that ignored `redirect` may have sent the body of the request to another address.
  const moved = redirected || type === 'opaqueredirect' || (url && url !== new URL(requested).href)
  if (moved || (mediaType && !/^\s*application\/([\w.+-]+\+)?json\s*(;|$)/i.test(mediaType))) {
    discardBody(response)
    return moved ? { status, media: 'foreign', moved: true } : { status, media: 'foreign', retryAfter }
  }
  const text = await readTextAtMost(response, maxTokenResponseBytes)
  if (text === undefined)
    throw new AgentAuthError(
      'response_too_large',
      `The token endpoint sent more than ${maxTokenResponseBytes / 1024} KiB.`,
      { retryable: true },
    )
  return { status, media: 'json', body: parseObject(text), retryAfter }
}

/**
 * Reads the header as seconds or an HTTP date and caps it. Any other text counts as absent. RFC 9110
 * section 10.2.3.
 */
export function retryAfterMs(value: string | null | undefined, nowMs: number): number | undefined {
  if (!value) return undefined
  const dateWaitMs = httpDate.test(value) ? Date.parse(value) - nowMs : Number.NaN
  const waitMs = /^\d+$/.test(value) ? Number(value) * 1000 : dateWaitMs
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, 0), maxRetryAfterMs)
}

/** Reads a body to its end. Beyond `maxBytes` it cancels the rest and resolves to undefined. */
export async function readAtMost(
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>[] | undefined> {
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return chunks
    // An empty chunk counts too, so that an endless stream of them ends.
    size += value.byteLength || 1
    if (size > maxBytes) break
    // A copy, because the source may use its buffer again.
    chunks.push(value.slice())
  }
  reader.cancel().catch(() => {})
  return undefined
}

/** Reads a body as text of at most so many bytes, and resolves to undefined if it has more. */
export async function readTextAtMost(response: Response, maxBytes: number): Promise<string | undefined> {
  const reader = response.body?.getReader()
  // Some platforms have no body streams: there the limit can only be checked afterwards.
  if (!reader) return response.text().then((text) => (text.length <= maxBytes ? text : undefined))
  const chunks = await readAtMost(reader, maxBytes)
  return chunks && new Blob(chunks).text()
}

/** Cancels a body that is not read, which frees its connection or source. Does not wait, because that can take long or never end. */
export function discardBody({ body }: { readonly body: ReadableStream | null }): void {
  body?.cancel().catch(() => {})
}
