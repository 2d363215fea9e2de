import { parseArgs } from 'node:util'
import { exitCodes } from '../scripts/flags.ts'
import { installOwnPackages } from '../scripts/own-packages.ts'
import { exitCodeOf, figureLine } from './figures.ts'
import { type Group, groups } from './groups.ts'
import { outputsIn, runGroups } from './run.ts'

type Measure = () => Promise<0 | 1>

/** A bench that takes arguments of its own. `load` imports none of the packages that `npm ci` leaves out. */
interface OwnBench {
  readonly measures: string
  /** `read` returns undefined if the arguments are wrong. */
  load(): Promise<{ readonly help: string; read(args: string[]): Measure | undefined }>
}

const own: Readonly<Record<string, OwnBench>> = {
  tabs: {
    measures: 'the group of that name, with another number of rounds',
    async load() {
      const { readTabs, tabsHelp } = await import('./tabs.ts')
      return { help: tabsHelp, read: readTabs }
    },
  },
  service: {
    measures: 'parts of the group of that name, and searches of a million agents',
    async load() {
      const { readService, serviceHelp } = await import('./service.ts')
      return { help: serviceHelp, read: readService }
    },
  },
  scale: {
    measures: 'a million sessions: an outage, commands and bytes of each operation, memory, waiters of a lock',
    async load() {
      const { readScale, scaleHelp } = await import('./scale.ts')
      return { help: scaleHelp, read: readScale }
    },
  },
}

const listed = (all: readonly (readonly [name: string, measures: string])[]): string =>
  all.map(([name, measures]) => `  ${name.padEnd(10)} ${measures}\n`).join('')

const help = `Usage: npm run bench [-- --only GROUP,...] [--short] [--out FOLDER]
       npm run bench -- NAME [ARGUMENTS]

Without a name, measures every group, prints one table, and writes bench/results.json and from it docs/numbers.md and
docs/numbers.svg. Figures of groups that are not measured stay as they were. It takes about half an hour.

${listed(groups.map(({ name, measures }) => [name, measures]))}
With a name, prints the figures of that group and writes nothing. These take arguments; NAME --help lists them:

${listed(Object.entries(own).map(([name, { measures }]) => [name, measures]))}
  --only GROUP,...  measure these groups
  --short           one small round of each, to see that it works; needs --out
  --out FOLDER      write the three files there
  --help            this text

Exit codes: 0 every target met, 1 one was missed or a group failed, 2 no such group or argument.
`

const [first = '', ...rest] = process.argv.slice(2)
process.exitCode = await (first === '' || first.startsWith('-') ? all(process.argv.slice(2)) : one(first, rest))

async function all(args: string[]): Promise<0 | 1 | 2> {
  if (args.includes('--help') || args.includes('-h')) return tell(help)
  const flags = readFlags(args)
  if (typeof flags === 'string') return usage(flags)
  await installForBenches()
  return runGroups(flags.groups, { size: flags.size, outputs: outputsIn(flags.out) })
}

async function one(name: string, args: string[]): Promise<0 | 1 | 2> {
  const group = groups.find((one) => one.name === name)
  const bench = Object.hasOwn(own, name) ? await own[name]?.load() : undefined
  if (!bench && !group) return usage(`there is no bench named ${name}`)
  const isHelp = args.includes('--help') || args.includes('-h')
  if (isHelp) return tell(bench?.help ?? `npm run bench -- ${name}: ${group?.measures}\n\n${help}`)
  if (!bench && args.length > 0) return usage(`${name} takes no arguments`)
  const measure = bench ? bench.read(args) : () => print(group as Group)
  if (!measure) {
    process.stderr.write(bench?.help ?? help)
    return exitCodes.usage
  }
  await installForBenches()
  return measure()
}

/** Stores and their clients are those of the tests. */
async function installForBenches(): Promise<void> {
  await installOwnPackages('benches')
  await installOwnPackages('tests')
}

async function print(group: Group): Promise<0 | 1> {
  const figures = await (await group.load())('whole')
  for (const figure of figures) process.stdout.write(figureLine(figure))
  return exitCodeOf(figures)
}

function readFlags(
  args: string[],
): string | { groups: readonly Group[]; size: 'whole' | 'short'; out: string | undefined } {
  let values: { only?: string; short?: boolean; out?: string }
  try {
    const options = { only: { type: 'string' }, short: { type: 'boolean' }, out: { type: 'string' } } as const
    values = parseArgs({ args, options }).values
  } catch (error) {
    return error instanceof Error ? error.message : 'wrong arguments'
  }
  const names = values.only?.split(',') ?? groups.map(({ name }) => name)
  const unknown = names.find((name) => groups.every((group) => group.name !== name))
  if (unknown !== undefined) return `there is no group named ${unknown}`
  if (values.short && values.out === undefined) return '--short needs --out, since its figures mean little'
  const asked = groups.filter(({ name }) => names.includes(name))
  return { groups: asked, size: values.short ? 'short' : 'whole', out: values.out }
}

function tell(text: string): 0 {
  process.stdout.write(text)
  return exitCodes.ok
}

function usage(problem: string): 2 {
  process.stderr.write(`bench: ${problem}\n\n${help}`)
  return exitCodes.usage
}
