import { expect, test } from 'vitest'
import { backoffMs } from '../../src/internal/timeouts.ts'

test('the waits of 160 clients fill half to all of a cap that doubles from 0.5 s to 30 s', () => {
  const clients = Array.from({ length: 160 }, () => Array.from({ length: 8 }, (_, index) => backoffMs(index + 1)))
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
