/** Reads a body to its end. Beyond `maxBytes` it cancels the rest and resolves to undefined. */
export async function readAtMost(
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
  maxBytes: number,
): Promise<Blob | undefined> {
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return new Blob(chunks)
    // An empty chunk counts too, so that an endless stream of them ends.
    size += value.byteLength || 1
    if (size > maxBytes) break
    chunks.push(value)
  }
  reader.cancel().catch(() => {})
  return undefined
}

/** Reads a body as text of at most so many bytes, and resolves to undefined if it has more. */
export async function readTextAtMost(response: Response, maxBytes: number): Promise<string | undefined> {
  const reader = response.body?.getReader()
  // Some platforms have no body streams: there the limit can only be checked afterwards.
  const text = await (reader ? (await readAtMost(reader, maxBytes))?.text() : response.text())
  return text !== undefined && text.length <= maxBytes ? text : undefined
}
