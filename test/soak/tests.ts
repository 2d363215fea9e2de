import { fileURLToPath } from 'node:url'
import { type Reporter, startVitest, type TestCase } from 'vitest/node'
import type {} from '../support/runs.ts'
import type { Soak } from './index.ts'

export interface LongTests {
  /** Whose tests: those whose title names it. */
  readonly row: string
  readonly files: readonly string[]
  /** Where the vitest configuration is; default: the project's own. */
  readonly root?: string
}

interface Size {
  /** Which part of the long sizes. */
  readonly share: number
  readonly onRound: Parameters<Soak['run']>[0]['onRound']
}

const ownRoot = fileURLToPath(new URL('../../', import.meta.url))
/** Of a failure: what a property prints first is its seed; a counterexample can be pages. */
const longestMessage = 1_500

/** Ordinary tests at their long sizes (test/support/runs.ts), in processes of their own. */
export async function soakTests({ row, files, root = ownRoot }: LongTests, size: Size): Promise<string> {
  const seen = new Map<TestCase, number>()
  const reporter: Reporter = {
    onTestModuleCollected(module) {
      for (const test of module.children.allTests()) if (names(row).test(test.fullName)) seen.set(test, 0)
    },
    onHookEnd({ name, entity }) {
      if (name !== 'afterEach' || entity.type !== 'test') return
      seen.set(entity, (seen.get(entity) ?? 0) + 1)
      size.onRound(
        rounds(seen.keys(), (test) => seen.get(test) ?? 0),
        rounds(seen.keys(), ({ options }) => (options.repeats ?? 0) + 1),
      )
    },
  }
  const unhandled = await vitest({ row, files, root }, size.share, reporter)
  const ran = [...seen.keys()].filter((test) => test.result().state !== 'skipped')
  const failures = [...ran.flatMap(failureOf), ...unhandled]
  if (failures.length > 0) throw new Error(failures.join('\n'))
  const done = rounds(ran, (test) => (test.diagnostic()?.repeatCount ?? 0) + 1)
  if (done === 0) throw new Error(`no test of ${row} ran that has a long size`)
  return `${done} rounds in ${ran.length === 1 ? 'one test' : `${ran.length} tests`}`
}

/** Resolves with the errors that belong to no test. */
async function vitest({ row, files, root }: Required<LongTests>, share: number, reporter: Reporter): Promise<string[]> {
  process.env.SOAK_SHARE = String(share)
  try {
    const options = { root, project: ['!postgres'], testNamePattern: names(row), watch: false, reporters: [reporter] }
    const run = await startVitest('test', [...files], options)
    await run.close()
    const modules = run.state.getTestModules().flatMap((module) => module.errors())
    return [...modules, ...run.state.getUnhandledErrors()].map((error) => (error as { message: string }).message)
  } finally {
    delete process.env.SOAK_SHARE
  }
}

function names(row: string): RegExp {
  return new RegExp(`\\b${row}\\b`)
}

function rounds(tests: Iterable<TestCase>, repeatsOf: (test: TestCase) => number): number {
  return [...tests].reduce((sum, test) => sum + (test.meta().numRuns ?? 0) * repeatsOf(test), 0)
}

/** The first: those of repeats after it only say that they were not tried. */
function failureOf(test: TestCase): string[] {
  const { state, errors: [error] = [] } = test.result()
  if (state !== 'failed') return []
  const cause = error?.cause?.message
  const said = `${error?.message ?? 'failed'}`.slice(0, longestMessage)
  return [`${test.fullName}\n${said}${cause === undefined ? '' : `\n${cause.slice(0, longestMessage)}`}`]
}
