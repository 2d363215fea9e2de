import { allowInsecureRequests, customFetch, revocationRequest } from 'oauth4webapi'
import type { AuthConfig } from '../../config.ts'
import { discardBody } from '../../internal/discard-body.ts'
import { revocationTimeoutMs } from '../../internal/limits.ts'
import { withDeadline } from '../../internal/timeouts.ts'

/** Where tokens are revoked. */
export interface RevocationTarget {
  readonly config: AuthConfig
  readonly revocationEndpoint: string | undefined
}

/**
 * Sends one revocation request, once (`revocationTimeoutMs`, 2 s), and returns whether the service accepted it with 200. RFC 7009
 * section 2.1.
 */
export async function revoke({ config, revocationEndpoint }: RevocationTarget, token: string): Promise<boolean> {
  const { authenticate, authUrl, clientId } = config
  // `revokeAll` calls this only with an endpoint, and `checkValues` (context.ts) allowed http only on loopback or at `allowHttpHosts`.
  const server = { issuer: authUrl, revocation_endpoint: revocationEndpoint as string }
  const response = await withDeadline(revocationTimeoutMs, (signal) =>
    revocationRequest(server, { client_id: clientId }, authenticate, token, {
      [allowInsecureRequests]: true,
      [customFetch]: (url, { body, headers }) =>
        config.fetch(url, { method: 'POST', body: String(body), headers, redirect: 'manual', signal }),
      additionalParameters: { token_type_hint: 'refresh_token' },
    }),
  )
  discardBody(response)
  return response.status === 200
}
