import { exitCodes } from '../scripts/flags.ts'

interface Bench {
  /** What is measured, against what. */
  readonly measures: string
  /** What it needs, peers and browsers among it, is loaded with it. */
  load(): Promise<{
    /** Where it takes arguments of its own. */
    readonly help?: string
    /** Prints its figures and resolves to the exit code: 0 when its targets were met. */
    run(args: string[]): Promise<0 | 1 | 2>
  }>
}

const benches: Record<string, Bench> = {
  overhead: {
    measures: 'a call through the bearer fetch, against one with the header set by hand',
    load: async () => withoutArguments((await import('./overhead.ts')).overhead),
  },
  import: {
    measures: 'starts of Node that load one entry of the built package, against a bare node -e 0',
    load: async () => withoutArguments((await import('./import.ts')).imports),
  },
  token: {
    measures: 'agent-auth token with a valid session, against a bare node -e 0',
    load: async () => withoutArguments((await import('./token.ts')).token),
  },
  paging: {
    measures: '100,000 rows through searchAll of agent-auth/api, against a loop of fetch calls; memory',
    load: async () => withoutArguments((await import('./paging.ts')).paging),
  },
  storms: {
    measures: 'sessions of four processes that expire at once, over Redis and PostgreSQL: one refresh each',
    load: async () => withoutArguments((await import('./storms.ts')).storms),
  },
  tabs: {
    measures: 'tabs in Chromium whose token expires at once: refreshes a round, failures, lost sessions',
    async load() {
      const { tabs, tabsHelp } = await import('./tabs.ts')
      return { help: tabsHelp, run: tabs }
    },
  },
  service: {
    measures: 'agent-service beside its peers: start, logins, refreshes, memory, search',
    async load() {
      const { service, serviceHelp } = await import('./service.ts')
      return { help: serviceHelp, run: service }
    },
  },
  scale: {
    measures: 'a million sessions: an outage, commands and bytes of each operation, memory, waiters of a lock',
    async load() {
      const { scale, scaleHelp } = await import('./scale.ts')
      return { help: scaleHelp, run: scale }
    },
  },
  backend: {
    measures: 'sealing, memory of idle sessions, lookups in Redis, proxied calls; against their bare counterparts',
    load: async () => withoutArguments((await import('./backend.ts')).backend),
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

process.exitCode = isAsked
  ? await tell()
  : ((await (await bench?.load())?.run(rest)) ?? usage(name ? `there is no bench named ${name}` : 'name one of these'))

async function tell(): Promise<0> {
  const own = bench && ((await bench.load()).help ?? `npm run bench -- ${name}: ${bench.measures}\n\n${help}`)
  process.stdout.write(own ?? help)
  return exitCodes.ok
}

function withoutArguments(measure: () => Promise<boolean>): Awaited<ReturnType<Bench['load']>> {
  return {
    async run(args) {
      if (args.length > 0) return usage(`${name} takes no arguments`)
      return (await measure()) ? 0 : 1
    },
  }
}

function usage(problem: string): 2 {
  process.stderr.write(`bench: ${problem}\n\n${help}`)
  return exitCodes.usage
}
