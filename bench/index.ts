import { overhead } from './overhead.ts'

interface Bench {
  /** What is measured, against what. */
  measures: string
  /** Prints its figures and resolves to whether its target was met. */
  run(): Promise<boolean>
}

const benches: Record<string, Bench> = {
  overhead: { measures: 'a call through the bearer fetch, against one with the header set by hand', run: overhead },
}

const names = Object.entries(benches).map(([name, { measures }]) => `  ${name.padEnd(10)} ${measures}\n`)

const help = `Usage: npm run bench -- <name>

${names.join('')}
Exit codes: 0 target met, 1 missed or failed, 2 no such bench. Bundle sizes: npm run size.
`

const [name = '', ...rest] = process.argv.slice(2)
const bench = Object.hasOwn(benches, name) ? benches[name] : undefined
const isAsked = [name, ...rest].some((argument) => argument === '--help' || argument === '-h')

if (isAsked) process.stdout.write(bench === undefined ? help : `npm run bench -- ${name}: ${bench.measures}\n\n${help}`)
else if (bench === undefined || rest.length > 0) {
  process.stderr.write(help)
  process.exitCode = 2
} else process.exitCode = (await bench.run()) ? 0 : 1
