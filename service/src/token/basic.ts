export interface BasicCredentials {
  clientId: string
  secret: string
}

const scheme = /^basic +([A-Za-z0-9+/]+={0,2})$/i

/**
 * Parses HTTP Basic strictly (S-040): canonical base64, UTF-8, split at the first colon, both parts form-decoded (RFC 6749
 * §2.3.1). Returns undefined for anything else. Two Authorization headers arrive joined by a comma, which is not base64.
 */
export function parseBasic(header: string): BasicCredentials | undefined {
  const encoded = scheme.exec(header)?.[1]
  if (encoded === undefined) return undefined
  const bytes = Buffer.from(encoded, 'base64')
  // Node also decodes text without its padding, or with bits set after the last byte. Only canonical text encodes to itself again.
  if (bytes.toString('base64') !== encoded) return undefined
  const text = bytes.toString('utf8')
  const colon = text.indexOf(':')
  if (colon < 1 || !Buffer.from(text, 'utf8').equals(bytes)) return undefined
  const clientId = formDecode(text.slice(0, colon))
  const secret = formDecode(text.slice(colon + 1))
  return clientId === undefined || secret === undefined ? undefined : { clientId, secret }
}

function formDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}
