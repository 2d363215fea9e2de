import { refreshTokenGrantRequest } from 'oauth4webapi'
import { checkAwaited, checkNames, checkSignal } from './config/check-options.ts'
import { type AuthConfig, checkConfig } from './config.ts'
import { AgentAuthError } from './errors.ts'
import { ownMembers } from './internal/plain-object.ts'
import { requestTokens } from './token-endpoint.ts'
import type { Tokens } from './tokens.ts'

/**
 * Sends one refresh and returns the new Tokens. The refresh token and the scope stay if the response leaves them out. A refresh
 * token that was kept as text is enough: `{ refreshToken }`, and the result is for `signIn` of a session. A session adds the
 * sharing of one refresh, retries and storage. Rejects with `login_required` without a refresh token,
 * `grant_rejected`, `client_rejected`, `config_invalid`, `response_invalid`, `response_too_large`,
 * `temporarily_unavailable`, `timeout` or `aborted`. Specification section 5.2, RFC 6749 section 6.
 */
export async function refreshTokens(
  config: AuthConfig,
  tokens: Partial<Tokens>,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<Tokens> {
  checkConfig('refreshTokens', config)
  const { signal } = checkNames('refreshTokens', options, ['signal'])
  checkSignal(signal)
  checkAwaited('tokens', tokens)
  const previous = ownMembers(tokens)
  const { refreshToken } = previous
  if (!refreshToken) throw new AgentAuthError('login_required', 'There is no refresh token. Start a login.')
  return requestTokens(config, {
    grant: 'refresh_token',
    send: (server, client, authenticate, options) =>
      refreshTokenGrantRequest(server, client, authenticate, refreshToken, options),
    previous,
    signal,
  })
}
