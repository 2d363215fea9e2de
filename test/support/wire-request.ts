export interface WireRequest {
  readonly method: string
  /** Path and query as sent. */
  readonly target: string
  /** Names and values in order, spelt as sent. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Request line and header lines, without the empty line after them. */
  readonly rawHead: string
  /** Body as text, without chunk framing. */
  readonly body: string
  /** Every byte of head and body as received. */
  readonly bytes: Buffer
  /** The first header of that name, whatever its case. */
  header(name: string): string | undefined
}

const gap = '\r\n\r\n'

/** The first whole request of the bytes and what follows it; nothing while it is incomplete. */
export function takeRequest(received: Buffer): { request: WireRequest; rest: Buffer } | undefined {
  const headEnd = received.indexOf(gap)
  if (headEnd === -1) return undefined
  const rawHead = received.toString('latin1', 0, headEnd)
  const [requestLine = '', ...lines] = rawHead.split('\r\n')
  const [method = '', target = ''] = requestLine.split(' ')
  const headers = lines.map((line) => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon), line.slice(colon + 1).trim()] as const
  })
  const header = (name: string) => headers.find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1]
  const bodyStart = headEnd + gap.length
  const chunked = header('transfer-encoding')?.toLowerCase() === 'chunked'
  const read = chunked
    ? readChunks(received, bodyStart)
    : readLength(received, bodyStart, Number(header('content-length') ?? 0))
  if (!read) return undefined
  const bytes = Buffer.from(received.subarray(0, read.end))
  const request: WireRequest = { method, target, headers, rawHead, body: read.body.toString('utf8'), bytes, header }
  return { request, rest: received.subarray(read.end) }
}

function readLength(received: Buffer, start: number, length: number): { body: Buffer; end: number } | undefined {
  const end = start + length
  return received.length < end ? undefined : { body: received.subarray(start, end), end }
}

function readChunks(received: Buffer, start: number): { body: Buffer; end: number } | undefined {
  const parts: Buffer[] = []
  for (let at = start; ; ) {
    const lineEnd = received.indexOf('\r\n', at)
    if (lineEnd === -1) return undefined
    const size = Number.parseInt(received.toString('latin1', at, lineEnd), 16)
    const from = lineEnd + 2
    if (received.length < from + size + 2) return undefined
    parts.push(received.subarray(from, from + size))
    at = from + size + 2
    if (size === 0) return { body: Buffer.concat(parts), end: at }
  }
}
