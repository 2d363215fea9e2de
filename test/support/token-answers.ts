import { expect } from 'vitest'
import type { AuthConfig } from '../../src/config.ts'
import type { AgentAuthError } from '../../src/errors.ts'
import type { AuthEvent } from '../../src/events.ts'
import { exchangeCode } from '../../src/exchange.ts'
import { refreshTokens } from '../../src/token-endpoint.ts'
import { createTokens, type Tokens } from '../../src/tokens.ts'
import { type TestClock, testClock } from './clock.ts'
import { configWith, failure, grantFor, scriptedFetch, tokensWith } from './token-flow.ts'

export const clock: TestClock = testClock()
export const nowMs: number = clock.wallMs()

export function configAnswering(answer: () => Response, events: AuthEvent[] = []): AuthConfig {
  return configWith({ clock, fetch: scriptedFetch(answer).fetch, onEvent: (event) => events.push(event) })
}

/** What both grants make of one answer; they must agree. */
export async function read(answer: () => Response): Promise<Tokens> {
  const config = configAnswering(answer)
  const exchanged = await exchangeCode(config, await grantFor(config))
  const { refreshToken, scope, ...before } = tokensWith()
  const refreshed = await refreshTokens(
    config,
    createTokens({ ...before, refreshToken: 'old', expiresAtMs: undefined, scope: undefined }),
  )
  expect({ ...refreshed, refreshToken: exchanged.refreshToken ?? 'old' }).toEqual({
    ...exchanged,
    refreshToken: refreshed.refreshToken,
  })
  return exchanged
}

export async function refused(answer: () => Response): Promise<{ exchange: AgentAuthError; refresh: AgentAuthError }> {
  const config = configAnswering(answer)
  const exchange = await failure(exchangeCode(config, await grantFor(config)))
  const refresh = await failure(refreshTokens(config, tokensWith()))
  return { exchange, refresh }
}
