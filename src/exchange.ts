import { authorizationCodeGrantRequest } from 'oauth4webapi'
import type { AuthConfig } from './config.ts'
import { AgentAuthError } from './errors.ts'
import { type Grant, type GrantContent, grantContent } from './grant.ts'
import { abortable, abortedError, backoffMs, sleep } from './internal/timeouts.ts'
import { checkNames, checkSignal } from './internal/values.ts'
import { requestTokens } from './token-endpoint.ts'
import type { Tokens } from './tokens.ts'

/** How often a code exchange is sent in all while the service cannot be reached. */
const maxExchangeSends = 3

/**
 * Exchanges a Grant for Tokens. A code is sent at most once: repeated calls share one result, and only a request that provably was
 * not sent is tried again. `signal` ends only this wait, and nothing is sent if no call waits.
 * Rejects with `state_mismatch` for a Grant that `readCallback` did not create, `issuer_mismatch` for one of another configuration,
 * `exchange_interrupted`, `grant_rejected`, `client_rejected`, `config_invalid`, `response_too_large`, `temporarily_unavailable` or
 * `aborted`. Specification section 5.2, RFC 6749 section 4.1.3.
 */
export async function exchangeCode(
  config: AuthConfig,
  grant: Grant,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<Tokens> {
  const { signal } = checkNames('exchangeCode', options, ['signal'])
  checkSignal(signal)
  return redeemGrant(config, grant, signal)
}

/** Does the work of `exchangeCode` for callers that have checked the options. */
export async function redeemGrant(config: AuthConfig, grant: Grant, signal?: AbortSignal): Promise<Tokens> {
  const content = grantContent(grant)
  if (!content) throw new AgentAuthError('state_mismatch', 'This is no Grant of readCallback.')
  const { pending } = content
  if (pending.tokenEndpoint !== config.tokenEndpoint || pending.clientId !== config.clientId)
    throw new AgentAuthError(
      'issuer_mismatch',
      'The Grant is of another clientId or tokenEndpoint. Use the config of startLogin.',
    )
  if (signal?.aborted) throw abortedError()
  content.exchange ??= exchange(config, content)
  content.waiting++
  try {
    return await abortable(content.exchange, signal)
  } finally {
    content.waiting--
  }
}

async function exchange(config: AuthConfig, content: GrantContent): Promise<Tokens> {
  const { parameters, pending } = content
  for (let sends = 1; ; sends++) {
    try {
      return await requestTokens(config, {
        previous: undefined,
        signal: undefined,
        grant: 'authorization_code',
        send: (server, client, authenticate, options) =>
          authorizationCodeGrantRequest(
            server,
            client,
            authenticate,
            parameters,
            pending.redirectUri,
            pending.codeVerifier,
            options,
          ),
      })
    } catch (error) {
      const { details, status } = error as AgentAuthError
      const isMistake = details?.outcome === 'config' && status === undefined
      if (details?.outcome !== 'not_sent' && !isMistake) throw error
      if (sends < maxExchangeSends && !isMistake) {
        await sleep(backoffMs(sends))
        if (content.waiting) continue
      }
      // The code was not sent, so that the same Grant can be exchanged later.
      content.exchange = undefined
      throw error
    }
  }
}
