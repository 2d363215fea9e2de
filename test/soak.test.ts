import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { missing, soaks } from './soak/index.ts'
import { runs } from './support/runs.ts'

const root = fileURLToPath(new URL('../', import.meta.url))

/** The promises that have a long size, and it. */
const longSizes: Record<string, number> = {
  'P-01': 1_000,
  'P-02': 500,
  'P-03': 500,
  'P-04': 200,
  'P-05': 1_000,
  'P-06': 100_000,
  'P-07': 5_000,
  'P-08': 5_000,
  'P-09': 500,
  'P-10': 10_000,
  'P-11': 1_000,
  'P-12': 1_000_000,
  'P-17': 20,
  'P-18': 10,
  'P-19': 200,
  'P-20': 100_000,
  'P-21': 500,
}

test.each(Object.entries(longSizes))('%s has a soak of %i rounds, or a reason why not', (row, rounds) => {
  const named = soaks.filter(({ says }) => says.startsWith(`${row} `))
  if (named.length === 0) expect(missing[row], 'neither a soak nor a reason').toMatch(/\w/)
  expect(named.filter((soak) => soak.rounds !== rounds)).toEqual([])
})

test('every soak has a name of its own and says first what it proves', () => {
  expect(new Set(soaks.map(({ name }) => name)).size).toBe(soaks.length)
  expect(soaks.filter(({ says }) => !/^[CPS]-\d{2,3} /.test(says))).toEqual([])
})

test('docs/benchmarks.md lists every soak with its rounds, and every row that has none', () => {
  const text = readFileSync(`${root}docs/benchmarks.md`, 'utf8')
  const lines = text.split('\n').filter((line) => line.startsWith('| `'))
  const unlisted = soaks.filter(({ name, says, rounds }) => {
    const line = lines.find((one) => one.includes(`\`${name}\``) && one.includes(says.slice(0, says.indexOf(' '))))
    return !line?.includes(`| ${rounds.toLocaleString('en')} |`)
  })
  expect(unlisted.map(({ name }) => name)).toEqual([])
  expect(Object.keys(missing).filter((row) => !text.includes(row))).toEqual([])
})

test('every file that a soak repeats has a test of its row and a long size', () => {
  const without = soaks.flatMap(({ says, files = [] }) => {
    const title = new RegExp(`\\[(?:\\S+ )*${says.slice(0, says.indexOf(' '))}\\b[^\\]]*\\]['"\`]`)
    const texts = files.map((file) => ({ file, text: readFileSync(`${root}${file}`, 'utf8') }))
    return texts.filter(({ text }) => !(title.test(text) && /\bruns\(/.test(text))).map(({ file }) => file)
  })
  expect(without).toEqual([])
})

test('runs: the ordinary size, and under a soak as many repeats as the long one takes', () => {
  onTestFinished(() => void delete process.env.SOAK_SHARE)
  const sized = (share?: string): unknown => {
    if (share !== undefined) process.env.SOAK_SHARE = share
    const { repeats, timeout } = runs(600, 40_000, 60_000).options
    return { repeats, timeoutMs: timeout }
  }
  expect(sized()).toEqual({ repeats: 0, timeoutMs: 60_000 })
  expect(sized('1')).toEqual({ repeats: 66, timeoutMs: 600_000 })
  expect(sized('0.02')).toEqual({ repeats: 1, timeoutMs: 600_000 })
  expect(sized('0.0001')).toEqual({ repeats: 0, timeoutMs: 600_000 })
})

/** Soaks the tests of test/support/soak-fixture, row by row; gives what was printed for each. */
function soaked(rows: string[]): Promise<string[]> {
  return new Promise((resolve) => {
    const args = ['--import', 'tsx', `${root}test/support/soak-fixture/soak.ts`, ...rows]
    execFile(process.execPath, args, { cwd: root }, (_, stdout) => resolve(stdout.split('== next row\n')))
  })
}

test('a soak of tests says what held, or the seed of what did not, which is not tried again', async () => {
  const [held, failed, missed] = await soaked(['P-01', 'P-02', 'P-03'])
  expect(held).toMatch(/^\d+ of 100\n[\s\S]*\n100 of 100\n100 rounds in one test\n$/)
  expect(failed).toMatch(
    /some number fails \[P-02\]\n[\s\S]*\{ seed: -?\d+, path: "[\s\S]*Counterexample: \[5\][\s\S]*\nnot below five$/m,
  )
  expect(failed?.match(/^tried$/gm)).toHaveLength(1)
  expect(missed).toMatch(/no test of P-03 ran that has a long size/)
}, 600_000)
