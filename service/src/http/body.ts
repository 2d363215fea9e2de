export type TextBody = { kind: 'text'; text: string } | { kind: 'too_large' } | { kind: 'not_utf8' }

/** The client went away before its body was complete. It gets no response; the journal says 499. */
export class BrokenOffError extends Error {}

/** Reads a body up to a size. Content-Length alone decides nothing, because a client may send more than it declares. */
export async function readAtMost(request: Request, maxBytes: number): Promise<TextBody> {
  const declared = request.headers.get('content-length')
  if (Number(declared ?? 0) > maxBytes) return { kind: 'too_large' }
  try {
    // A server's parser ends the body at its declared length, so it needs no stream to count it.
    if (declared !== null) return bounded(new Uint8Array(await request.arrayBuffer()), maxBytes)
    return await readStream(request, maxBytes)
  } catch (cause) {
    throw new BrokenOffError('the body ended early', { cause })
  }
}

async function readStream({ body }: Request, maxBytes: number): Promise<TextBody> {
  if (body === null) return { kind: 'text', text: '' }
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    size += value.byteLength
    if (size > maxBytes) {
      await reader.cancel()
      return { kind: 'too_large' }
    }
    chunks.push(value)
  }
  return decode(Buffer.concat(chunks))
}

function bounded(bytes: Uint8Array, maxBytes: number): TextBody {
  return bytes.byteLength > maxBytes ? { kind: 'too_large' } : decode(bytes)
}

function decode(bytes: Uint8Array): TextBody {
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
