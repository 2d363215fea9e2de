import { readFileSync } from 'node:fs'
import type { TestProject } from 'vitest/node'
import { adviceFor, isMissing, programs, skipsTests } from './programs.ts'

// Vitest's globalSetup: says once, at the start, which programs are missing that the files of this run need.

/** What it reads of the run. */
interface Run {
  readonly vitest: { readonly state: Pick<TestProject['vitest']['state'], 'getPaths'> }
}

export default function sayWhatIsMissing({ vitest }: Run): void {
  const sources = [...new Set(vitest.state.getPaths())].map((path) => readFileSync(path, 'utf8'))
  for (const program of programs) {
    const { tag } = program
    const files = sources.filter((source) => tag !== undefined && mentions(source, tag))
    if (files.length > 0 && isMissing(program))
      process.stderr.write(
        `${adviceFor(program)} ${skipsTests(program) ? 'Its tests are skipped' : 'CI is set: its tests fail'} (tag ${tag}, files: ${files.length}).\n`,
      )
  }
}

/** Whether the file carries the tag as a whole, or names it for some of its tests. */
function mentions(source: string, tag: string): boolean {
  return source.includes(`@module-tag ${tag}`) || (/\btags: /.test(source) && source.includes(`'${tag}'`))
}
