import { expect, test } from 'vitest'
import { exitCodeOf, figureLine } from '../bench/figures.ts'
import { targets } from '../bench/service/targets.ts'

const figure = (value: number, target: { most: number } | { least: number }) => ({
  name: 'x',
  value,
  unit: 'x',
  target,
})

test('the service is held to 0.6 of a start, 1.5 times the logins and 0.9 of the refreshes of its peers, and to 2 s for a seed', () => {
  expect(targets).toEqual({ start: 0.6, logins: 1.5, 'logins of new browsers': 1.5, refreshes: 0.9, seedMs: 2_000 })
})

test.each([
  [figure(0.6, { most: 0.6 }), 0],
  [figure(0.601, { most: 0.6 }), 1],
  [figure(1.5, { least: 1.5 }), 0],
  [figure(1.499, { least: 1.5 }), 1],
  [figure(Number.NaN, { least: 1.5 }), 1],
  [{ name: 'x', value: 1, unit: 'x' }, 0],
] as const)('a bench of %o ends with %i', (one, code) => {
  expect(exitCodeOf([{ name: 'first', value: 1, unit: 'x' }, one])).toBe(code)
  if ('target' in one) expect(figureLine(one)).toContain(code === 0 ? 'pass' : 'MISSED')
})
