import { overhead } from './overhead.ts'
import { storms } from './storms.ts'

interface Bench {
  /** What is measured, against what. */
  readonly measures: string
  /** What may follow the name. */
  readonly options?: string
  /** Prints its figures and resolves to whether its target was met. Throws what is wrong with its arguments. */
  run(args: readonly string[]): Promise<boolean>
}

const benches: Record<string, Bench> = {
  overhead: { measures: 'a call through the bearer fetch, against one with the header set by hand', run: overhead },
  storms: {
    measures: 'sessions of four processes that expire at once, over Redis and PostgreSQL: one refresh each',
    run: storms,
  },
}

const names = Object.entries(benches).map(([name, { measures }]) => `  ${name.padEnd(10)} ${measures}\n`)

const help = `Usage: npm run bench -- <name> [options]

${names.join('')}
Exit codes: 0 target met, 1 missed or failed, 2 no such bench or option. Bundle sizes: npm run size.
`

const [name = '', ...rest] = process.argv.slice(2)
const bench = Object.hasOwn(benches, name) ? benches[name] : undefined
const isAsked = [name, ...rest].some((argument) => argument === '--help' || argument === '-h')

if (isAsked) process.stdout.write(bench === undefined ? help : about(bench))
else if (bench === undefined || (rest.length > 0 && bench.options === undefined)) {
  process.stderr.write(help)
  process.exitCode = 2
} else process.exitCode = (await bench.run(rest)) ? 0 : 1

function about({ measures, options = '' }: Bench): string {
  return `npm run bench -- ${name} ${options}\n\n${measures}\n\n${help}`
}
