import fc from 'fast-check'
import { afterEach, test } from 'vitest'
import { runs } from '../runs.ts'

afterEach(() => {})

function check(numRuns: number, limit: number): void {
  const below = fc.property(fc.nat(1_000), (number) => {
    if (number >= limit) throw new Error('not below five')
  })
  fc.assert(below, { numRuns })
}

const some = runs(10, 100)
test('every number passes', some.options, () => check(some.numRuns, Number.POSITIVE_INFINITY))

const many = runs(10, 1_000)
test('some number fails', many.options, () => {
  process.stdout.write('tried\n')
  check(many.numRuns, 5)
})

test('without a long size', () => {})

const other = runs(10, 5_000)
test('of another row', other.options, () => check(other.numRuns, 5))
