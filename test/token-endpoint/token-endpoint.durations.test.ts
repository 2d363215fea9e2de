import { expect, test } from 'vitest'
import type { AuthEvent } from '../../src/events.ts'
import { refreshTokens } from '../../src/token-endpoint.ts'
import { testClock } from '../support/clock.ts'
import { configWith, json, tokensWith } from '../support/token-flow.ts'

test('a token request says how many milliseconds it took', async () => {
  const clock = testClock()
  const events: AuthEvent[] = []
  const config = configWith({
    clock,
    onEvent: (event) => void events.push(event),
    fetch: async () => {
      clock.advance(250)
      return json({ access_token: 'x' })
    },
  })
  await refreshTokens(config, tokensWith({ refreshToken: 'refresh-token-1' }))
  expect(events).toContainEqual(expect.objectContaining({ type: 'token_request', durationMs: 250 }))
})
