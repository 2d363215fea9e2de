import { backend } from './backend.ts'
import { overhead } from './overhead.ts'
import { service, serviceHelp } from './service.ts'
import { storms } from './storms.ts'
import { tabs, tabsHelp } from './tabs.ts'

interface Bench {
  /** What is measured, against what. */
  readonly measures: string
  /** Where it takes arguments of its own. */
  readonly help?: string
  /** Prints its figures and resolves to the exit code: 0 when its targets were met. */
  run(args: string[]): Promise<0 | 1 | 2>
}

const benches: Record<string, Bench> = {
  overhead: {
    measures: 'a call through the bearer fetch, against one with the header set by hand',
    run: withoutArguments(overhead),
  },
  storms: {
    measures: 'sessions of four processes that expire at once, over Redis and PostgreSQL: one refresh each',
    run: withoutArguments(storms),
  },
  tabs: {
    measures: 'tabs in Chromium whose token expires at once: refreshes a round, failures, lost sessions',
    help: tabsHelp,
    run: tabs,
  },
  service: {
    measures: 'agent-service beside its peers: start, logins, refreshes, memory, search',
    help: serviceHelp,
    run: service,
  },
  backend: {
    measures: 'sealing, memory of idle sessions, lookups in Redis, proxied calls; against their bare counterparts',
    run: withoutArguments(backend),
  },
}

const names = Object.entries(benches).map(([name, { measures }]) => `  ${name.padEnd(10)} ${measures}\n`)

const help = `Usage: npm run bench -- <name>

${names.join('')}
Exit codes: 0 target met, 1 missed or failed, 2 no such bench or argument. Bundle sizes: npm run size.
`

const [name = '', ...rest] = process.argv.slice(2)
const bench = Object.hasOwn(benches, name) ? benches[name] : undefined
const isAsked = [name, ...rest].some((argument) => argument === '--help' || argument === '-h')

if (isAsked) {
  process.stdout.write(
    bench === undefined ? help : (bench.help ?? `npm run bench -- ${name}: ${bench.measures}\n\n${help}`),
  )
} else process.exitCode = bench === undefined ? usage() : await bench.run(rest)

function withoutArguments(run: () => Promise<boolean>): Bench['run'] {
  return async (args) => {
    if (args.length > 0) return usage()
    return (await run()) ? 0 : 1
  }
}

function usage(): 2 {
  process.stderr.write(help)
  return 2
}
