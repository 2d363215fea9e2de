import type { Mutant } from './mutants.ts'
import { testsFor } from './tests-for.ts'
import type { Run, Workshop } from './workshop.ts'

export interface Verdict {
  readonly outcome: 'killed' | 'survived'
  /** The test that failed, or what else refused the mutant. */
  readonly by: string
  /** The file of the test that failed. */
  readonly testFile?: string
}

type Tester = (files: readonly string[]) => Promise<Run>

const failedTest = /^ *FAIL +(?:\|\w+\|)? *((\S+\.test\.tsx?)\b.*)$/m
const unhandled = /Unhandled (?:Errors?|Rejection)/

/** How many test files run first and then, because most mutants fail those that are nearest. */
const nearest = 8
const near = 32

/** Runs the tests that reach the mutant, the nearest first and the slow ones last. */
export async function judge(mutant: Mutant, workshop: Workshop, silenceLimitS: number): Promise<Verdict> {
  const tests = testsFor(mutant.file, workshop.files, workshop.read)
  const isSlow = (test: string): boolean => workshop.read(test).includes('@module-tag slow')
  const quick = tests.filter((test) => !isSlow(test))
  const batches = [quick.slice(0, nearest), quick.slice(nearest, near), quick.slice(near), tests.filter(isSlow)]
  return workshop.changed(mutant, async () => {
    for (const batch of batches) {
      const verdict = await batchVerdict(batch, (files) => workshop.test(files, silenceLimitS))
      if (verdict) return verdict
    }
    return { outcome: 'survived', by: `${tests.length} test files` }
  })
}

/** A test counts if it fails twice, because on a busy machine one may fail by itself. */
async function batchVerdict(batch: readonly string[], test: Tester): Promise<Verdict | undefined> {
  if (batch.length === 0) return undefined
  const verdict = await verdictOfRun(batch, test)
  const { testFile } = verdict ?? {}
  if (testFile === undefined || !batch.includes(testFile)) return verdict
  if ((await test([testFile])).outcome !== 'passed') return verdict
  return batchVerdict(
    batch.filter((file) => file !== testFile),
    test,
  )
}

/** A run with `--bail` can end before it prints the test that failed, so a run without such a test is repeated once. */
async function verdictOfRun(batch: readonly string[], test: Tester): Promise<Verdict | undefined> {
  const run = await test(batch)
  return isUnexplained(run) ? verdictOf(await test(batch)) : verdictOf(run)
}

function isUnexplained({ outcome, output }: Run): boolean {
  return outcome === 'failed' && !failedTest.test(output) && !unhandled.test(output)
}

function verdictOf({ outcome, output }: Run): Verdict | undefined {
  if (outcome === 'passed') return undefined
  if (outcome === 'hung') return { outcome: 'killed', by: 'hanging' }
  const failed = failedTest.exec(output)
  if (failed?.[1] && failed[2]) return { outcome: 'killed', by: failed[1], testFile: failed[2] }
  if (unhandled.test(output)) return { outcome: 'killed', by: 'an unhandled error' }
  throw new Error(`the test run ended without a failed test:\n${output.slice(-2_000)}`)
}
