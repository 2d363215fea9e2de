import { expect, test } from 'vitest'
import { refreshTokens } from '../../src/token-endpoint.ts'
import { testClock } from '../support/clock.ts'
import { leastMs } from '../support/least-ms.ts'
import { configWith, failure, scriptedFetch, tokensWith } from '../support/token-flow.ts'

const nowMs = Date.UTC(2026, 0, 1)
const clock = testClock(nowMs)
const tokens = tokensWith()

/** The wait that an error of the token endpoint names for this `Retry-After`. */
async function waitOf(value: string): Promise<number | undefined> {
  const answer = () => new Response(null, { status: 503, headers: { 'retry-after': value } })
  const error = await failure(refreshTokens(configWith({ clock, fetch: scriptedFetch(answer).fetch }), tokens))
  const { outcome, retryAfterMs, ...more } = error.details ?? {}
  expect({ code: error.code, outcome, more }).toEqual({ code: 'temporarily_unavailable', outcome: 'busy', more: {} })
  return retryAfterMs
}

test.each(['9', ' ', ' GMT', 'Thu, ', '(', '0 ', ':', '-'])('100 KB of %j take less than 50 ms', async (unit) => {
  const long = unit.repeat(Math.ceil(100_000 / unit.length))
  for (const value of [long, `Thu, 01 Jan 2026 ${long} GMT`])
    expect(await leastMs(() => waitOf(value))).toBeLessThan(50)
})
