import type { AuthConfig } from '../../config.ts'
import { withDeadline } from '../../internal/timeouts.ts'
import { discardBody } from '../../token-endpoint/response.ts'
import { unreachedCause } from '../error-cause.ts'
import type { LoggedOutEvent } from '../events.ts'

const timeoutMs = 2_000

/** What an event says about a revocation. */
export type RevocationResult = Pick<LoggedOutEvent, 'revocation' | 'cause'>

/** Where tokens are revoked. */
export interface RevocationTarget {
  readonly config: AuthConfig
  readonly revocationEndpoint: string | undefined
}

/**
 * Revokes the refresh tokens of a session that ended, with one request each. Sends no access token. Returns `failed` also without a
 * token, because one that could not be read may be valid, and if only `some` are known, because a refresh in progress may bring another.
 * Never rejects.
 */
export async function revoke(
  { config, revocationEndpoint }: RevocationTarget,
  tokens: readonly (string | undefined)[],
  known: 'all' | 'some' = 'all',
): Promise<RevocationResult> {
  if (!revocationEndpoint) return { revocation: 'off' }
  const different = [...new Set(tokens)].filter((token) => token !== undefined)
  try {
    const revoked = await Promise.all(different.map((token) => sendRevocation(config, revocationEndpoint, token)))
    const isDone = revoked.length > 0 && revoked.every(Boolean) && known === 'all'
    return { revocation: isDone ? 'done' : 'failed' }
  } catch (error) {
    return { revocation: 'failed', cause: unreachedCause(error, revocationEndpoint, 'revocationEndpoint') }
  }
}

/** Sends one revocation request, once, and returns whether the service accepted it. RFC 7009 section 2.1. */
async function sendRevocation(config: AuthConfig, revocationEndpoint: string, token: string): Promise<boolean> {
  // Loaded at the first revocation, so that the start does not wait for it.
  const { allowInsecureRequests, customFetch, revocationRequest } = await import('oauth4webapi')
  const { authenticate, authUrl, clientId } = config
  const server = { issuer: authUrl, revocation_endpoint: revocationEndpoint }
  const response = await withDeadline(timeoutMs, (signal) =>
    revocationRequest(server, { client_id: clientId }, authenticate, token, {
      // The option was checked: http on loopback or at `allowHttpHosts` only.
      [allowInsecureRequests]: true,
      [customFetch]: (url: string, { body, headers }: { body: unknown; headers: Record<string, string> }) =>
        config.fetch(url, { method: 'POST', body: String(body), headers, redirect: 'manual', signal }),
      additionalParameters: { token_type_hint: 'refresh_token' },
    }),
  )
  discardBody(response)
  return response.status === 200
}
