/** A token request, before what is the same for all is added. */
export interface WireRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Translates a token request of RFC 6749 into that of the Agent Management Service: the grant type is in the query alone, and a refresh
 * has a JSON body. Specification section 5.2.
 */
export function inServiceDialect({ url, headers, body }: WireRequest): WireRequest {
  const { grant_type: grant, ...members } = Object.fromEntries(new URLSearchParams(body))
  const target = `${url}?grant_type=${grant}`
  if (grant !== 'refresh_token') return { url: target, headers, body: `${new URLSearchParams(members)}` }
  return { url: target, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(members) }
}
