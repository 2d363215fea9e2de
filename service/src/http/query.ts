import { requestLimits } from '../limits.ts'

/** One value of a query, as text and as percent-encoded bytes. */
export interface QueryValue {
  text: string
  encoded: string
  bytes: number
}

export interface Query {
  /** Returns the value of a parameter. An empty one counts as absent (S-005). */
  get(name: string): QueryValue | undefined
  count(name: string): number
  /** False if there are more than `maxParameters`. The others were not read then. */
  readonly isComplete: boolean
}

const maxParameters = requestLimits.queryParameters

/**
 * Reads the raw query (`queryParameters`, 100), because URLSearchParams loses bytes that are not UTF-8 and `state` returns
 * unchanged (S-008).
 */
export function parseQuery(url: string): Query {
  const start = url.indexOf('?')
  const raw = start === -1 ? '' : (url.slice(start + 1).split('#')[0] ?? '')
  const values = new Map<string, QueryValue[]>()
  const pairs = raw.split('&', maxParameters + 1)
  for (const pair of pairs.slice(0, maxParameters)) {
    if (pair === '') continue
    const split = pair.indexOf('=')
    const name = queryValue(split === -1 ? pair : pair.slice(0, split)).text
    const value = queryValue(split === -1 ? '' : pair.slice(split + 1))
    const known = values.get(name)
    if (known === undefined) values.set(name, [value])
    else known.push(value)
  }
  return {
    get: (name) => values.get(name)?.find((value) => value.bytes > 0),
    count: (name) => values.get(name)?.length ?? 0,
    isComplete: pairs.length <= maxParameters,
  }
}

function queryValue(encoded: string): QueryValue {
  // Unreserved characters need no decoding and encode to themselves.
  if (/^[A-Za-z0-9\-._~]*$/.test(encoded)) return { text: encoded, encoded, bytes: encoded.length }
  const bytes = decodeBytes(encoded)
  return { text: bytes.toString('utf8'), encoded: encodeBytes(bytes), bytes: bytes.length }
}

function decodeBytes(encoded: string): Buffer {
  const latin1 = Buffer.from(encoded.replaceAll('+', ' '), 'utf8')
    .toString('latin1')
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(latin1, 'latin1')
}

function encodeBytes(bytes: Buffer): string {
  return bytes
    .toString('latin1')
    .replace(/[^A-Za-z0-9\-._~]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
}
