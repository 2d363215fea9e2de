import { discardBody } from '../discard-body.ts'
import { AgentAuthError } from '../errors.ts'

const maxBytes = 262_144

/** What the token endpoint answered, read within bounds; `body` is there only when the answer was one JSON object. */
export interface TokenAnswer {
  readonly status: number
  readonly media: 'json' | 'foreign'
  readonly body?: Record<string, unknown>
  readonly retryAfterMs?: number
}

/** Reads at most 256 KiB of decompressed JSON and never lets a parser's error out, since those quote what they read. */
export async function readTokenAnswer(response: Response, nowMs: number): Promise<TokenAnswer> {
  const { status, headers } = response
  const type = headers.get('content-type')
  const media = !type || /^\s*application\/([\w.+-]+\+)?json\s*(;|$)/i.test(type) ? 'json' : 'foreign'
  const body = media === 'json' ? parseObject(await readText(response)) : undefined
  if (media === 'foreign') discardBody(response)
  const retryAfterMs = parseRetryAfter(headers.get('retry-after'), nowMs)
  return { status, media, ...(body && { body }), ...(retryAfterMs !== undefined && { retryAfterMs }) }
}

async function readText(response: Response): Promise<string> {
  const reader = response.body?.getReader()
  // Some platforms have no body streams; there the bound can only be checked afterwards.
  if (!reader) return bounded(await response.text())
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    size += value.byteLength || 1
    if (size > maxBytes) {
      reader.cancel().catch(() => {})
      tooLarge()
    }
    text += decoder.decode(value, { stream: true })
  }
}

function bounded(text: string): string {
  return text.length > maxBytes ? tooLarge() : text
}

function tooLarge(): never {
  throw new AgentAuthError('response_too_large', 'The token endpoint sent more than 256 KiB.', { retryable: true })
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** Seconds or an HTTP date, clamped to five minutes; anything else counts as absent. RFC 9110 section 10.2.3. */
function parseRetryAfter(value: string | null, nowMs: number): number | undefined {
  if (!value) return undefined
  const waitMs = /^\d+$/.test(value)
    ? Number(value) * 1000
    : / GMT$/.test(value)
      ? Date.parse(value) - nowMs
      : Number.NaN
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, 0), 300_000)
}
