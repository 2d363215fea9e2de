const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** The fields of a form or a query by the URL standard, byte for byte. */
export function formOracle(body: string): [name: string, value: string][] {
  const decoded = (part: string): string => {
    const bytes = [...Buffer.from(part.replace(/\+/g, ' '))]
    const out: number[] = []
    for (let at = 0; at < bytes.length; at += 1) {
      const hex = Buffer.from(bytes.slice(at + 1, at + 3)).toString('latin1')
      const isEscape = bytes[at] === 0x25 && /^[\da-f]{2}$/i.test(hex)
      out.push(isEscape ? Number.parseInt(hex, 16) : (bytes[at] as number))
      if (isEscape) at += 2
    }
    return utf8.decode(Uint8Array.from(out))
  }
  return body
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [name = '', ...rest] = pair.split('=')
      return [decoded(name), decoded(rest.join('='))]
    })
}
