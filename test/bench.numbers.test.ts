import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Figure } from '../bench/figures.ts'
import { type Group, groups } from '../bench/groups.ts'
import { numbersPage } from '../bench/page.ts'
import { numbersPlot } from '../bench/plot.ts'
import { readResults, withGroup } from '../bench/results.ts'
import { outputsIn, runGroups } from '../bench/run.ts'

const machine = { processor: 'Some processor', cores: 2, memoryGiB: 4, system: 'Linux', node: '20.19.0' }
const measured = {
  run: 'an earlier one',
  at: '2026-01-02T03:04:05.000Z',
  commit: 'abc',
  machine,
  otherWork: 0,
  versions: {},
}
const figure: Figure = { name: 'a call', value: 3, unit: 'µs', peers: { hand: 1 }, target: { most: 2.5, of: 'hand' } }

let home = ''
let folder = ''
let said = { stdout: '', stderr: '' }

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'agent-auth-numbers-'))
  // A run makes it.
  folder = join(home, 'out')
  said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    vi.spyOn(process[name], 'write').mockImplementation((chunk) => {
      said[name] += chunk
      return true
    })
})

afterEach(() => {
  vi.restoreAllMocks()
  rmSync(home, { recursive: true })
})

function run(asked: readonly Group[]): Promise<0 | 1> {
  return runGroups(asked, { size: 'short', outputs: outputsIn(folder) })
}

function groupNamed(name: string, measure: () => Figure[]): Group {
  return { name, title: name, measures: `what ${name} is`, load: async () => async () => measure() }
}

function groupsOf(...names: string[]): Group[] {
  return groups.filter(({ name }) => names.includes(name))
}

test('docs/numbers.md and its plot are those of bench/results.json', () => {
  const { results, page, plot } = outputsIn(undefined)
  expect(readFileSync(page, 'utf8')).toBe(numbersPage(readResults(results)))
  expect(readFileSync(plot, 'utf8')).toBe(numbersPlot(readResults(results)))
})

test('a short run of a group measures it beside its peer and writes the results, the page and the plot', async () => {
  await run(groupsOf('sealing'))
  expect(said.stderr).toContain('sealing, 1 of 1')
  const results = readResults(outputsIn(folder).results)
  expect(results.measured.sealing).toMatchObject({
    run: results.last.at,
    versions: { 'iron-session': expect.stringMatching(/^\d+\./) },
  })
  expect(results.figures.map(({ group, peers, target, verdict }) => ({ group, peers, target, verdict }))).toEqual(
    [1, 4].map((least) => ({
      group: 'sealing',
      peers: { 'iron-session': expect.any(Number) },
      target: { least, of: 'iron-session' },
      verdict: expect.stringMatching(/^(pass|missed)$/),
    })),
  )
  expect(readFileSync(outputsIn(folder).page, 'utf8')).toBe(numbersPage(results))
  expect(readFileSync(outputsIn(folder).plot, 'utf8')).toContain('prefers-color-scheme: dark')
})

test('a figure says whether it meets its target, by its ratio to the peer that the target names', () => {
  const { figures } = withGroup(readResults(join(folder, 'none')), { group: 'a', measured, figures: [figure] })
  expect(figures).toEqual([{ group: 'a', ...figure, verdict: 'missed' }])
})

test('a run of one group keeps the figures of the others, and the page says that they are older', () => {
  const none = readResults(join(folder, 'none'))
  const both = ['overhead', 'token'].reduce(
    (results, group) => withGroup(results, { group, measured, figures: [figure] }),
    none,
  )
  const again = withGroup(both, {
    ...{ group: 'token', figures: [] },
    measured: { ...measured, run: '2026-02-03T04:05:06.000Z', otherWork: 0.4 },
  })
  expect(again.figures.map(({ group }) => group)).toEqual(['overhead'])
  const page = numbersPage({ ...again, last: { at: '2026-02-03T04:05:06.000Z', commit: 'abc' } })
  const section = (title: string): string => page.split('\n## ').find((one) => one.startsWith(title)) ?? ''
  expect(section('Overhead')).toContain('Not part of the last run. Measured on 2 January 2026 at 03:04 UTC at commit')
  expect(section('Overhead')).toContain('| a call | 3 | µs | hand: 1 | at most 2.5 × hand | 3 ×, missed |')
  expect(section('The command')).not.toContain('Not part of the last run')
  expect(section('Overhead')).toContain('Other work took up to 0 % of its processors')
  expect(section('The command')).toContain('The machine was busy: other work took up to 40 % of its processors')
  expect(page).toContain('Not measured yet: `size`,')
})

test('a group that fails is named, is not written down, and does not keep the others from being measured', async () => {
  const broken = groupNamed('token', () => {
    throw new Error('Node is gone')
  })
  const unmeasured = groupNamed('overhead', () => [{ ...figure, value: Number.NaN }])
  const good = groupNamed('paging', () => [{ name: 'rows', value: 2, unit: 'rows', target: { least: 1 } }])
  expect(await run([broken, unmeasured, good])).toBe(1)
  expect(said.stderr).toContain('token failed: Node is gone\n')
  expect(said.stderr).toContain('overhead failed: a call was not measured.\n')
  expect(said.stdout).toContain('1 of 1 targets met.\nNot measured, because they failed: token, overhead.\n')
  expect(Object.keys(readResults(outputsIn(folder).results).measured)).toEqual(['paging'])
})

test.each([
  [3, 1],
  [2, 0],
] as const)('a run in which a figure is %i of at most 2 ends with %i', async (value, code) => {
  expect(await run([groupNamed('token', () => [{ name: 'starts', value, unit: 'ms', target: { most: 2 } }])])).toBe(
    code,
  )
})

test('nothing is written if nothing could be measured', async () => {
  const broken = groupNamed('token', () => {
    throw new Error('Node is gone')
  })
  expect(await run([broken])).toBe(1)
  expect(existsSync(outputsIn(folder).page)).toBe(false)
})
