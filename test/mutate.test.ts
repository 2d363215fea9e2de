import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { draw, roomOf } from '../scripts/mutate/draw.ts'
import { equivalents, isSame } from '../scripts/mutate/equivalent.ts'
import { judge } from '../scripts/mutate/judge.ts'
import { apply, mutantsOf } from '../scripts/mutate/mutants.ts'
import { isEnough, type Report, scoreOf } from '../scripts/mutate/score.ts'
import { testsFor } from '../scripts/mutate/tests-for.ts'
import { linkedSets, type Run, type Workshop } from '../scripts/mutate/workshop.ts'
import { packagesFor } from './support/packages-of-a-run.ts'

const root = fileURLToPath(new URL('../', import.meta.url))

/** Every text that one change makes of a line. */
const changesOf = (line: string): string[] => mutantsOf('a.ts', line).map((mutant) => apply(mutant, line))

describe('the changes of npm run mutate', () => {
  test.each([
    ['if (ready) go()', ['if (!(ready)) go()', 'if (ready) ;']],
    ['const a = b < 2', ['const a = b <= 2', 'const a = b < 3']],
    ['const a = b === c', ['const a = b !== c']],
    ['const a = b && !c', ['const a = b || !c', 'const a = b && c']],
    ['const a = b ?? c', ['const a = b && c']],
    ['const a = () => b', ['const a = () => undefined']],
    ['const a = (): void => { return }', ['const a = (): void => { ; }']],
    ['function a() { return b }', ['function a() { return undefined }']],
    ["const a = 'code'", ["const a = ''"]],
    ['const a = b ? true : c', ['const a = !(b) ? true : c', 'const a = b ? false : c']],
  ])('%s becomes %j', (line, becomes) => {
    expect(changesOf(line)).toEqual(becomes)
  })

  test.each(["import a from 'a'", "type A = 'a' | 1", "const a = 'A sentence.'", 'interface A { b: true }'])(
    'there is none of %s',
    (line) => {
      expect(changesOf(line)).toEqual([])
    },
  )

  test('each says its file, line and text', () => {
    const [mutant] = mutantsOf('src/a.ts', 'const a = 0\n  if (b) c()\n').filter(({ line }) => line === 2)
    expect(mutant).toMatchObject({ file: 'src/a.ts', source: 'if (b) c()', was: 'b', becomes: '!(b)' })
  })
})

describe('the draw of npm run mutate', () => {
  const all = mutantsOf('a.ts', 'f(1, 2, 3, 4, 5, 6, 7, 8, 9)')
  const isFit = (): boolean => true

  test('is the same for the same seed, another for another, and takes nothing twice', () => {
    const drawn = draw(all, { count: 6, seed: 1, isFit })
    expect(new Set(drawn).size).toBe(6)
    expect(draw(all, { count: 6, seed: 1, isFit })).toEqual(drawn)
    expect(draw(all, { count: 6, seed: 2, isFit })).not.toEqual(drawn)
  })

  test('passes over what the compiler refuses, and ends when nothing is left', () => {
    expect(draw(all, { count: 100, seed: 1, isFit: ({ was }) => was === '7' })).toMatchObject([{ becomes: '8' }])
  })

  test.each([
    ['core', ['src/session.ts', 'src/session/save.ts']],
    ['service', ['service/src/token/refresh.ts']],
    ['session', ['src/session.ts', 'src/session/save.ts']],
    ['token', ['service/src/token/refresh.ts']],
    ['src/session/save.ts', ['src/session/save.ts']],
  ])('the room %s', (name, files) => {
    const sources = ['src/session.ts', 'src/session/save.ts', 'src/api/api.ts', 'service/src/token/refresh.ts']
    expect(sources.filter(roomOf(name))).toEqual(files)
  })
})

test('the tests of a change are those that import or bundle its file, those of its name first', () => {
  const texts: Record<string, string> = {
    'src/session.ts': "import './tokens.ts'",
    'src/tokens.ts': '',
    'test/claims.test.ts': "import '../src/tokens.ts'",
    'test/session.test.ts': "import 'agent-auth'",
    'test/tokens.test.ts': "import './support/rig.ts'",
    'test/other.test.ts': '',
    'test/support/rig.ts': "import '../../src/session.ts'",
    'src/index.ts': "export * from './session.ts'",
    'src/command/main.ts': "import './login.ts'",
    'src/command/login.ts': '',
    'test/command.test.ts': "build({ entryPoints: [join(root, 'src/command/main.ts')] })",
  }
  const reach = (file: string): string[] => testsFor(file, Object.keys(texts), (name) => texts[name] ?? '')
  expect(reach('src/tokens.ts')).toEqual(['test/tokens.test.ts', 'test/claims.test.ts', 'test/session.test.ts'])
  expect(reach('src/command/login.ts')).toEqual(['test/command.test.ts'])
})

test.each(['agent-auth', 'agent-auth/browser', 'agent-auth/react', 'agent-service'])(
  'the copy in which a change of %s is tried has every set of packages that its tests install',
  (entry) => {
    const file = entry === 'agent-service' ? 'service/src/index.ts' : `${entry.replace('agent-auth', 'src')}/index.ts`
    const tests = ['bench.a', 'e2e/a', 'browser/react-a', 'core/a'].map((name) => `test/${name}.test.ts`)
    const reached = testsFor(file, [file, ...tests], () => `import '${entry}'`)
    expect(reached).toContain('test/bench.a.test.ts')
    expect(packagesFor(reached.map((test) => `/copy/${test}`)).filter((set) => !linkedSets.includes(set))).toEqual([])
  },
)

describe('the verdict of npm run mutate', () => {
  const [mutant] = mutantsOf('src/a.ts', 'a()')
  const verdictAfter = (run: () => Run | undefined): ReturnType<typeof judge> | undefined => {
    const workshop: Workshop = {
      files: ['src/a.ts', 'test/a.test.ts'],
      read: (file) => (file === 'test/a.test.ts' ? "import '../src/a.ts'" : 'a()'),
      test: async () => run() ?? { outcome: 'passed', output: '' },
      changed: (_, work) => work(),
      remove: () => {},
    }
    return mutant && judge(mutant, workshop, 1)
  }

  test.each<[Run, object]>([
    [{ outcome: 'passed', output: '' }, { outcome: 'survived' }],
    [
      { outcome: 'hung', output: '' },
      { outcome: 'killed', by: 'hanging' },
    ],
    [
      { outcome: 'failed', output: ' FAIL  |library| test/a.test.ts > holds\n' },
      { outcome: 'killed', by: 'test/a.test.ts > holds', testFile: 'test/a.test.ts' },
    ],
  ])('after %j', async (run, verdict) => {
    expect(await verdictAfter(() => run)).toMatchObject(verdict)
  })

  test('is survived if a test fails once, but not again', async () => {
    const runs: Run[] = [
      { outcome: 'failed', output: ' FAIL  |library| test/a.test.ts > holds\n' },
      { outcome: 'passed', output: '' },
    ]
    expect(await verdictAfter(() => runs.shift())).toMatchObject({ outcome: 'survived' })
    expect(runs).toEqual([])
  })

  test('is that of a second run if the first ends before it prints the test that failed', async () => {
    const runs: Run[] = [
      { outcome: 'failed', output: ' Tests  6 passed (208)\n' },
      { outcome: 'failed', output: ' FAIL  |library| test/a.test.ts > holds\n' },
      { outcome: 'failed', output: ' FAIL  |library| test/a.test.ts > holds\n' },
    ]
    expect(await verdictAfter(() => runs.shift())).toMatchObject({ outcome: 'killed' })
    expect(runs).toEqual([])
  })

  test('is none if the run fails without a test that fails', async () => {
    await expect(verdictAfter(() => ({ outcome: 'failed', output: 'No test files found' }))).rejects.toThrow(
      'No test files',
    )
  })
})

describe('the score of a room', () => {
  const report = (statuses: Readonly<Record<string, number>>): Report => ({
    files: Object.fromEntries(
      Object.entries(statuses).map(([status, count]) => [status, { mutants: Array(count).fill({ status }) }]),
    ),
  })

  test('is the share of changes that a test noticed, of those that could be tried', () => {
    const counts = {
      Killed: 80,
      Timeout: 5,
      Survived: 10,
      NoCoverage: 5,
      Ignored: 100,
      CompileError: 1,
      RuntimeError: 1,
    }
    expect(scoreOf(report(counts))).toEqual({ killed: 80, timedOut: 5, survived: 10, uncovered: 5, share: 0.85 })
  })

  test.each([
    [85, 15, true],
    [84, 16, false],
    [0, 0, false],
  ])('with %d noticed and %d not is enough: %s', (Killed, Survived, enough) => {
    const good = scoreOf(report({ Killed: 1 }))
    expect(isEnough([good, scoreOf(report({ Killed, Survived }))])).toBe(enough)
  })
})

test('every change that is listed as equivalent can still be made, and has a reason', () => {
  const gone = equivalents.filter(
    (listed) =>
      !mutantsOf(listed.file, readFileSync(`${root}${listed.file}`, 'utf8')).some((mutant) => isSame(listed, mutant)),
  )
  expect(gone).toEqual([])
  expect(equivalents.filter(({ reason }) => !/^.{10,}\.$/.test(reason))).toEqual([])
})
