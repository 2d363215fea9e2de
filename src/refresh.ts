import { checkArgument, checkOptions, signalKind } from './config/options.ts'
import { type AuthConfig, checkConfig } from './config.ts'
import { AgentAuthError } from './errors.ts'
import { requestTokens } from './token-endpoint.ts'
import type { Tokens } from './tokens.ts'

/**
 * Sends one refresh by JSON body and returns the new Tokens, which keep the refresh token and scope the answer leaves out.
 * Rejects with `login_required` when there is no refresh token, `grant_rejected`, `client_rejected`, `config_invalid`,
 * `response_invalid`, `response_too_large`, `temporarily_unavailable`, `timeout` or `aborted`. A session adds single
 * flight, replay and storage. Specification section 5.2, RFC 6749 section 6.
 */
export async function refreshTokens(
  config: AuthConfig,
  tokens: Tokens,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<Tokens> {
  checkConfig('refreshTokens', config)
  checkOptions('refreshTokens', options, { signal: signalKind })
  checkArgument('tokens', tokens, { methods: ['accessToken'] })
  const { refreshToken } = tokens
  if (!refreshToken)
    throw new AgentAuthError('login_required', 'There is no refresh token. The person must sign in again.')
  return requestTokens(config, {
    grant: 'refresh_token',
    parameters: { refresh_token: refreshToken },
    previous: tokens,
    signal: options.signal,
  })
}
