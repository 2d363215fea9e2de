import { AgentAuthError } from '../errors.ts'
import { attempt } from '../internal/attempt.ts'
import { discardBody } from '../internal/discard-body.ts'
import { readWithin } from '../internal/read-at-most.ts'

const maxBytes = 262_144
/** `Date.parse` reads a date into nearly any text. RFC 9110 section 5.6.7. */
const httpDate = /^\w+, [\w -]+ [\d:]+ GMT$/

/** What the token endpoint answered, read within bounds; `body` is there only when the answer was one JSON object. */
export interface TokenAnswer {
  readonly status: number
  readonly media: 'json' | 'foreign'
  readonly body?: Record<string, unknown> | undefined
  readonly retryAfterMs?: number | undefined
}

/** Reads at most 256 KiB of decompressed JSON and never lets a parser's error out, since those quote what they read. */
export async function readTokenAnswer(response: Response, requested: string, nowMs: number): Promise<TokenAnswer> {
  const { status, headers, url, redirected, type } = response
  // An opaque redirect has status 0; a fetch that ignored `redirect` has already carried the body away.
  const moved = redirected || type === 'opaqueredirect' || (url && url !== new URL(requested).href)
  const retryAfterMs = retryAfter(headers.get('retry-after') ?? '', nowMs)
  const mediaType = headers.get('content-type')
  if (moved || (mediaType && !/^\s*application\/([\w.+-]+\+)?json\s*(;|$)/i.test(mediaType))) {
    discardBody(response)
    return moved ? { status: 302, media: 'foreign' } : { status, media: 'foreign', retryAfterMs }
  }
  return { status, media: 'json', body: parseObject(await readText(response)), retryAfterMs }
}

/** Some platforms have no body streams; there the bound can only be checked afterwards. */
async function readText(response: Response): Promise<string> {
  const reader = response.body?.getReader()
  const text = await (reader ? (await readWithin(reader, maxBytes))?.text() : response.text())
  if (text !== undefined && text.length <= maxBytes) return text
  throw new AgentAuthError('response_too_large', 'The token endpoint sent more than 256 KiB.', { retryable: true })
}

function parseObject(text: string): Record<string, unknown> | undefined {
  const value: unknown = attempt(() => JSON.parse(text))
  return typeof value === 'object' && value && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined
}

/** Seconds or an HTTP date, clamped to five minutes; anything else counts as absent. RFC 9110 section 10.2.3. */
function retryAfter(value: string, nowMs: number): number | undefined {
  const untilMs = httpDate.test(value) ? Date.parse(value) - nowMs : Number.NaN
  const waitMs = /^\d+$/.test(value) ? Number(value) * 1000 : untilMs
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, 0), 300_000)
}
