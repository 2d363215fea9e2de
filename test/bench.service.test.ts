import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { exitCodeOf, figureLine, isMet } from '../bench/figures.ts'
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

test('docs/benchmarks.md says of each recorded ratio what it is and whether it meets its target', () => {
  const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')
  const { figures } = JSON.parse(read('../bench/service.json')) as { figures: Record<string, number> }
  const held = [
    ['start, agent-service : oauth2-mock-server', { most: targets.start }, 'Start to first 200'],
    ...(['loopback', 'in process'] as const).flatMap(
      (where) =>
        [
          [
            `${where}, logins, agent-service : oidc-provider`,
            { least: targets.logins },
            `Logins per CPU second, ${where}`,
          ],
          [
            `${where}, logins of new browsers, agent-service : oidc-provider`,
            { least: targets['logins of new browsers'] },
            `… of new browsers, ${where}`,
          ],
          [
            `${where}, refreshes, agent-service : oidc-provider`,
            { least: targets.refreshes },
            `Refreshes per CPU second, ${where}`,
          ],
        ] as const,
    ),
  ] as const
  const lines = read('../docs/benchmarks.md').split('\n')
  for (const [name, target, title] of held) {
    const value = figures[name] ?? Number.NaN
    const line = lines.find((one) => one.startsWith(`| ${title}`)) ?? ''
    const bound = 'most' in target ? `at most ${target.most} ×` : `at least ${target.least} ×`
    expect(line).toContain(bound)
    expect(line).toContain(`| ${value.toFixed(2)}, ${isMet(figure(value, target)) ? 'pass' : 'missed'} |`)
  }
})
