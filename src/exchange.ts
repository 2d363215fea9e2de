import { checkOptions, signalKind } from './config/options.ts'
import { type AuthConfig, checkConfig } from './config.ts'
import { AgentAuthError } from './errors.ts'
import { type Grant, type GrantContent, openGrant } from './grant.ts'
import { backoffMs } from './internal/backoff.ts'
import { abortable, sleep } from './internal/timeouts.ts'
import { requestTokens } from './token-endpoint.ts'
import type { Tokens } from './tokens.ts'

/**
 * Exchanges a Grant for Tokens by form post. A code is sent at most once: repeated calls share one result, and only what
 * provably never left is tried again. Rejects with `state_mismatch` for a Grant that `readCallback` did not make,
 * `issuer_mismatch` for one of another configuration, `exchange_interrupted`, `grant_rejected`, `client_rejected`,
 * `config_invalid`, `response_too_large`, `temporarily_unavailable` or `aborted`; `signal`
 * ends only this wait. Specification section 5.2, RFC 6749 section 4.1.3.
 */
export async function exchangeCode(
  config: AuthConfig,
  grant: Grant,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<Tokens> {
  checkConfig('exchangeCode', config)
  checkOptions('exchangeCode', options, { signal: signalKind })
  const content = openGrant(grant)
  if (!content) throw new AgentAuthError('state_mismatch', 'Not a Grant of readCallback: its state was never checked.')
  const { pending } = content
  if (pending.tokenEndpoint !== config.tokenEndpoint || pending.clientId !== config.clientId)
    throw new AgentAuthError('issuer_mismatch', 'This Grant belongs to another configuration. Nothing was sent.')
  content.exchange ??= exchange(config, content)
  return abortable(content.exchange, options.signal)
}

async function exchange(config: AuthConfig, content: GrantContent): Promise<Tokens> {
  const { code, pending } = content
  for (let attempt = 1; ; attempt++) {
    try {
      return await requestTokens(config, {
        grant: 'authorization_code',
        parameters: { redirect_uri: pending.redirectUri, code, code_verifier: pending.codeVerifier },
      })
    } catch (error) {
      if ((error as AgentAuthError).details?.outcome !== 'not_sent') throw error
      if (attempt === 3) {
        // Nothing left this machine, so the same Grant may be exchanged later.
        content.exchange = undefined
        throw error
      }
      await sleep(backoffMs(attempt))
    }
  }
}
