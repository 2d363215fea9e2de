import { execFileSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import type { Figure, Size } from './figures.ts'
import { exitCodeOf, figureLine, isMet } from './figures.ts'

type Extent = 'short' | 'usual' | 'full'

const load = { warmUpMs: 2_000, rounds: 5, roundMs: 500 }
const shortLoad = { warmUpMs: 0, rounds: 1, roundMs: 100 }
const searchLimits = { mostTimes: 200, mostMs: 1_500 }
const agents: Readonly<Record<Extent, readonly number[]>> = {
  short: [100, 1_000],
  usual: [1_000, 100_000],
  full: [1_000, 100_000, 1_000_000],
}

/** In the order they run. Each loads what it needs. `full` is for a machine with minutes to spare. */
const parts: Record<string, (extent: Extent) => Promise<Figure[]>> = {
  async start(extent) {
    const { start } = await import('./service/start.ts')
    // One peer makes an RSA key, which takes from once to thrice as long.
    return start({ rounds: extent === 'short' ? 1 : 25 })
  },
  loopback: (extent) => throughput('loopback', extent),
  'in-process': (extent) => throughput('in process', extent),
  async seed(extent) {
    const { seed } = await import('./service/seed.ts')
    return seed({ agents: extent === 'short' ? 100 : 10_000 })
  },
  async memory(extent) {
    // There is no short way to ten thousand logins.
    return extent === 'short' ? [] : (await import('./service/memory.ts')).memory()
  },
  async search(extent) {
    const { search } = await import('./service/search.ts')
    return search({ sizes: agents[extent], ...searchLimits })
  },
}

async function throughput(where: 'loopback' | 'in process', extent: Extent): Promise<Figure[]> {
  const { throughput } = await import('./service/throughput.ts')
  return throughput(where, extent === 'short' ? shortLoad : load)
}

export const serviceHelp: string = `Usage: npm run bench -- service [part ...] [--full]

Measures agent-service beside oauth2-mock-server and oidc-provider, by turns in one run. Parts, all by default:

  start        processor time from the start of the process to the first 200
  loopback     logins and refreshes per second of the server's processor time, over sockets
  in-process   the same without sockets, the driver's share included
  seed         processor time of a start with a seed of 10,000 agents; whether its export comes back
  memory       heap while 10,000 people log in, about a minute
  search       agents of one tenant in 100 by filter, sort and text, on libSQL and PostgreSQL

  --full       search a million agents as well
  --help       this text

Exit code 0: every target met, 1: one was missed, 2: wrong arguments.
`

/** Returns the bench that these arguments ask for. It prints every figure as it comes, and resolves to the exit code. */
export function readService(args: string[]): (() => Promise<0 | 1>) | undefined {
  const flags = readFlags(args)
  return flags && (() => measureParts(flags))
}

async function measureParts({ names, extent }: Flags): Promise<0 | 1> {
  build()
  const figures: Figure[] = []
  for (const name of names) {
    process.stdout.write(`\n${name}\n`)
    for (const figure of (await parts[name]?.(extent)) ?? []) {
      figures.push(figure)
      process.stdout.write(figureLine(figure))
    }
  }
  const missed = figures.filter((figure) => !isMet(figure)).length
  process.stdout.write(`\n${missed === 0 ? 'Every target met.' : `${missed} targets missed.`}\n`)
  return exitCodeOf(figures)
}

/** Measures every part, and says on stderr what each gave. */
export async function measureService(size: Size): Promise<Figure[]> {
  build()
  const figures: Figure[] = []
  for (const [name, measure] of Object.entries(parts)) {
    process.stderr.write(`service: ${name}\n`)
    figures.push(...(await measure(size === 'short' ? 'short' : 'usual')))
  }
  return figures
}

/** What is measured is what people install. */
function build(): void {
  execFileSync('npm', ['run', '--silent', 'build:js'], { cwd: new URL('..', import.meta.url), stdio: 'ignore' })
}

interface Flags {
  readonly names: readonly string[]
  readonly extent: Extent
}

function readFlags(args: string[]): Flags | undefined {
  try {
    const options = { full: { type: 'boolean' } } as const
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options })
    if (positionals.some((name) => !Object.hasOwn(parts, name))) return undefined
    const names = positionals.length > 0 ? positionals : Object.keys(parts)
    return { names, extent: values.full ? 'full' : 'usual' }
  } catch {
    return undefined
  }
}
