import { expect, test } from 'vitest'
import { createRandom } from '../support/random.ts'
import { assemble } from '../support/start.ts'
import { compareSamples, timingContests } from '../support/timing.ts'

// That both refusals do the same work is proved by counting (sign-in.test.ts, secret-guesses.test.ts). Here the judge of
// the long run is judged, and each contest is seen to run; a busy machine decides nothing.

function sample(seed: number, shift: number): number[] {
  const random = createRandom(seed)
  return Array.from({ length: 1_000 }, () => 10 + shift + random.below(1_000) / 500)
}

test('the comparison finds a difference that is there, and none that is not', () => {
  const same = compareSamples(sample(1, 0), sample(2, 0))
  expect(Math.abs(same.medianRatio - 1)).toBeLessThan(0.02)
  expect(same.ksProbability).toBeGreaterThan(0.01)
  expect(compareSamples([4, 2, 9], [8, 1, 5]).quickestRatio).toBe(2)
  const slower = compareSamples(sample(1, 1), sample(2, 0))
  expect(slower.medianRatio).toBeGreaterThan(1.05)
  expect(slower.ksProbability).toBeLessThan(1e-6)
  // Equal medians, another shape.
  const wider = compareSamples(
    sample(1, 0).map((ms) => 11 + (ms - 11) * 3),
    sample(2, 0),
  )
  expect(wider.ksProbability).toBeLessThan(1e-6)
})

test.each(timingContests)('$name: no difference of kind', async ({ run, fewestTries }) => {
  const { quickestRatio } = await run(fewestTries, assemble)
  // A refusal without a hash takes a thousandth of one with it; this is no finer than that.
  expect(quickestRatio).toBeGreaterThan(0.02)
  expect(quickestRatio).toBeLessThan(50)
})
