import { overhead } from './overhead.ts'

/** Each prints its figures and resolves to whether its target was met. */
const benches: Record<string, () => Promise<boolean>> = {
  overhead,
}

const help = `Usage: npm run bench -- <name>

  overhead   a call through the bearer fetch, against one with the header set by hand

Exit code 0: target met, 1: missed, 2: no such bench. Bundle sizes: npm run size.
`

const [name] = process.argv.slice(2)
const bench = Object.hasOwn(benches, name ?? '') ? benches[name ?? ''] : undefined

if (bench) process.exitCode = (await bench()) ? 0 : 1
else if (name === '--help' || name === '-h') process.stdout.write(help)
else {
  process.stderr.write(help)
  process.exitCode = 2
}
