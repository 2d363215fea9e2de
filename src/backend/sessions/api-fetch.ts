import { createBearerFetch } from '../../bearer.ts'
import type { AccessTokenSource } from '../../session.ts'
import type { BackendContext } from '../context.ts'

/**
 * Returns the `fetch` of a session, for the proxy and for server code. It calls URLs under `baseUrl`, and rejects with
 * `origin_forbidden` for any different one. A 401 of the API refreshes the token and sends the request once more, if the token is
 * then newer and the body can be sent twice (bearer.ts).
 */
export function apiFetch({ config, injectedFetch }: BackendContext, source: AccessTokenSource): typeof fetch {
  const { baseUrl, allowHttpHosts } = config
  return createBearerFetch(source, { baseUrl, allowHttpHosts, fetch: injectedFetch, elsewhere: 'reject' })
}
