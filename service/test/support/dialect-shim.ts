/** The service's dialect for clients that speak RFC 6749: grant_type moves to the query, the refresh becomes JSON. */
export async function dialectFetch(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  if (!(init.body instanceof URLSearchParams)) return fetch(input, init)
  const { grant_type = '', ...fields } = Object.fromEntries(init.body)
  const url = new URL(input instanceof Request ? input.url : input)
  url.searchParams.set('grant_type', grant_type)
  if (grant_type !== 'refresh_token') return fetch(url, { ...init, body: new URLSearchParams(fields) })
  const headers = new Headers(init.headers)
  headers.set('content-type', 'application/json')
  return fetch(url, { ...init, headers, body: JSON.stringify(fields) })
}
