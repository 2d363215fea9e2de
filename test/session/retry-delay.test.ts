import { expect, test } from 'vitest'
import { AgentAuthError } from '../../src/errors.ts'
import { retryDelay } from '../../src/session/retry-delay.ts'
import { testClock } from '../support/clock.ts'
import { configWith } from '../support/token-flow.ts'

const busy = (retryAfterMs?: number): AgentAuthError =>
  new AgentAuthError('temporarily_unavailable', 'The service is busy.', {
    retryable: true,
    ...(retryAfterMs !== undefined && { details: { retryAfterMs } }),
  })

function rig() {
  const waits: number[] = []
  const clock = testClock()
  const config = configWith({
    clock,
    onEvent: (event) => void (event.type === 'refresh_failed' && waits.push(event.waitMs)),
  })
  return { waits, clock, delay: retryDelay(config) }
}

test('the waits of 160 clients fill half to all of a cap that doubles from 0.5 s to 30 s', () => {
  const clients = Array.from({ length: 160 }, () => {
    const { waits, delay } = rig()
    for (let attempt = 0; attempt < 8; attempt++) delay.recordFailure(busy())
    return waits
  })
  for (let attempt = 0; attempt < 8; attempt++) {
    const capMs = Math.min(500 * 2 ** attempt, 30_000)
    const quarters = [0, 0, 0, 0]
    for (const waits of clients) {
      const waitMs = waits[attempt] ?? Number.NaN
      expect(waitMs).toBeGreaterThanOrEqual(capMs / 2)
      expect(waitMs).toBeLessThanOrEqual(capMs)
      const quarter = Math.min(3, Math.floor(((waitMs - capMs / 2) / (capMs / 2)) * 4))
      quarters[quarter] = (quarters[quarter] ?? 0) + 1
    }
    // 40 expected; the deviation of one quarter is 5.5.
    for (const count of quarters) expect(Math.abs(count - 40)).toBeLessThan(38)
  }
})

test('the next refresh may start after the wait of the last failure, and a success begins at the first cap again', () => {
  const { waits, clock, delay } = rig()
  const failure = busy()
  delay.recordFailure(failure)
  delay.recordFailure(failure)
  expect({ failure: delay.failure, leftMs: delay.untilMs - clock.monotonicMs() }).toEqual({ failure, leftMs: waits[1] })
  delay.reset()
  expect(delay.failure).toBeUndefined()
  delay.recordFailure(failure)
  expect(waits[2]).toBeLessThanOrEqual(500)
})

test('Retry-After takes the place of the cap, does not raise it, and counts as absent if it is 0', () => {
  const { waits, delay } = rig()
  delay.recordFailure(busy(90_000))
  delay.recordFailure(busy(0))
  const [named, first = Number.NaN] = waits
  expect(named).toBe(90_000)
  expect(first).toBeGreaterThanOrEqual(250)
  expect(first).toBeLessThanOrEqual(500)
})
