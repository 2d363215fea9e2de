import { fileURLToPath } from 'node:url'
import { type Reporter, startVitest, type TestCase } from 'vitest/node'
import type {} from '../support/runs.ts'
import type { Soak } from './index.ts'

export interface LongTests {
  /** Whose tests: those with it in their title. */
  readonly row: string
  readonly files: readonly string[]
  readonly project?: 'libsql' | 'postgres'
}

interface Size {
  /** Which part of the long sizes. */
  readonly share: number
  readonly onRound: Parameters<Soak['run']>[0]['onRound']
}

const root = fileURLToPath(new URL('../../', import.meta.url))
/** Of a failure: what a property prints first is its seed; a counterexample can be pages. */
const longestMessage = 1_500

/** Ordinary tests at their long sizes (test/support/runs.ts), in processes of their own. */
export async function soakTests({ row, files, project = 'libsql' }: LongTests, size: Size): Promise<string> {
  const seen = new Map<TestCase, number>()
  const rounds = (of: (test: TestCase) => number): number =>
    [...seen.keys()].reduce((sum, test) => sum + (test.meta().numRuns ?? 0) * of(test), 0)
  const done = (): number => rounds((test) => seen.get(test) ?? 0)
  const reporter: Reporter = {
    onTestCaseReady: (test) => void seen.set(test, 0),
    onHookEnd({ name, entity }) {
      if (name !== 'afterEach' || entity.type !== 'test') return
      seen.set(entity, (seen.get(entity) ?? 0) + 1)
      size.onRound(done(), rounds(wanted))
    },
  }
  const unhandled = await vitest({ row, files, project }, size.share, reporter)
  const ran = [...seen.keys()].filter((test) => test.result().state !== 'skipped')
  const failures = [...ran.flatMap(failureOf), ...unhandled]
  if (failures.length > 0) throw new Error(failures.join('\n'))
  for (const test of seen.keys()) if (!ran.includes(test)) seen.delete(test)
  if (done() === 0) throw new Error(`no test of ${row} ran that has a long size`)
  return `${done()} rounds in ${ran.length} tests`
}

/** Resolves with the errors that belong to no test. */
async function vitest(
  { row, files, project }: Required<LongTests>,
  share: number,
  reporter: Reporter,
): Promise<string[]> {
  process.env.SOAK_SHARE = String(share)
  try {
    const options = { root, project: [project], testNamePattern: `${row} `, watch: false, reporters: [reporter] }
    const run = await startVitest('test', [...files], options)
    await run.close()
    const modules = run.state.getTestModules().flatMap((module) => module.errors())
    return [...modules, ...run.state.getUnhandledErrors()].map((error) => (error as { message: string }).message)
  } finally {
    delete process.env.SOAK_SHARE
  }
}

function wanted({ options }: TestCase): number {
  return (options.repeats ?? 0) + 1
}

/** The first: those of repeats after it only say that they were not tried. */
function failureOf(test: TestCase): string[] {
  const { state, errors: [error] = [] } = test.result()
  if (state !== 'failed') return []
  const cause = error?.cause?.message
  const said = `${error?.message ?? 'failed'}`.slice(0, longestMessage)
  return [`${test.fullName}\n${said}${cause === undefined ? '' : `\n${cause.slice(0, longestMessage)}`}`]
}
