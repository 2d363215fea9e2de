export type BytesBody = { kind: 'bytes'; bytes: Uint8Array } | { kind: 'too_large' }
export type TextBody = { kind: 'text'; text: string } | { kind: 'too_large' } | { kind: 'not_utf8' }

/** The client went away before its body was complete. It gets no response; the journal says 499. */
export class BrokenOffError extends Error {}

/** Reads a text up to a size. */
export async function readAtMost(request: Request, maxBytes: number): Promise<TextBody> {
  const body = await readBytesAtMost(request, maxBytes)
  return body.kind === 'bytes' ? decodeText(body.bytes) : body
}

/** Reads a body up to a size. Content-Length alone decides nothing, because a client may send more than it declares. */
export async function readBytesAtMost(request: Request, maxBytes: number): Promise<BytesBody> {
  const declared = request.headers.get('content-length')
  if (Number(declared ?? 0) > maxBytes) return { kind: 'too_large' }
  try {
    if (declared === null) return await readStream(request, maxBytes)
    // A server's parser ends the body at its declared length, so it needs no stream to count it.
    const bytes = new Uint8Array(await request.arrayBuffer())
    return bytes.byteLength > maxBytes ? { kind: 'too_large' } : { kind: 'bytes', bytes }
  } catch (cause) {
    throw new BrokenOffError('the body ended early', { cause })
  }
}

async function readStream({ body }: Request, maxBytes: number): Promise<BytesBody> {
  if (body === null) return { kind: 'bytes', bytes: new Uint8Array() }
  const reader = body.getReader()
  // One buffer instead of a list, because a list of chunks of one byte takes 160 times their size.
  let bytes = Buffer.alloc(0)
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    const end = size + value.byteLength
    if (end > maxBytes) {
      await reader.cancel()
      return { kind: 'too_large' }
    }
    if (end > bytes.length) bytes = Buffer.concat([bytes], Math.max(end, Math.min(2 * end, maxBytes)))
    bytes.set(value, size)
    size = end
  }
  return { kind: 'bytes', bytes: bytes.subarray(0, size) }
}

export function decodeText(bytes: Uint8Array): Exclude<TextBody, { kind: 'too_large' }> {
  try {
    // A byte order mark is kept, because it is not JSON and the parser must refuse it.
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) }
  } catch {
    return { kind: 'not_utf8' }
  }
}

/** Returns whether the body is declared as `type`, in UTF-8 and not compressed. */
export function hasMediaType(headers: Headers, type: string): boolean {
  if ((headers.get('content-encoding') ?? 'identity') !== 'identity') return false
  const [essence, ...parameters] = (headers.get('content-type') ?? '').split(';').map((part) => part.trim())
  if (essence?.toLowerCase() !== type) return false
  return parameters.every((parameter) => {
    const [name, value = ''] = parameter.split('=')
    return name?.toLowerCase() !== 'charset' || /^"?utf-?8"?$/i.test(value)
  })
}

export type FormFields = { kind: 'fields'; get(name: string): string | undefined } | { kind: 'repeated'; field: string }

/** Reads a form in which each field appears once. An empty field counts as absent. */
export function parseForm(text: string): FormFields {
  const fields = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(text)) {
    if (fields.has(name)) return { kind: 'repeated', field: name }
    fields.set(name, value)
  }
  return { kind: 'fields', get: (name) => fields.get(name) || undefined }
}

/** Returns the members of a JSON object, or undefined for any other text. */
export function jsonMembers(text: string): Map<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? new Map(Object.entries(value)) : undefined
  } catch {
    return undefined
  }
}
