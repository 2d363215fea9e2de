import { randomInt } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { exitCodes, runCommand } from './flags.ts'
import { compilerOf } from './mutate/compiler.ts'
import { draw, roomOf } from './mutate/draw.ts'
import { isEquivalent } from './mutate/equivalent.ts'
import { judge, type Verdict } from './mutate/judge.ts'
import { type Mutant, mutantsOf } from './mutate/mutants.ts'
import { openWorkshop, type Workshop } from './mutate/workshop.ts'
import { installOwnPackages } from './own-packages.ts'

const help = `Usage: npm run mutate -- [--random N] [--seed S] [--room NAME …] [--at FILE:LINE] [--silence-limit S]

Changes one place of the sources at a time, in a copy of the working tree, and runs the tests that reach it: those of its name
first, then all others that import it. Says for each change which test failed, or that all passed.

The changes: a condition negated, < <= > >= === !== && || ?? * / - exchanged, ! removed, a statement removed, undefined
returned, true, false, a number or a word changed. Sentences, types and imports stay as they are, and a change that the type
check refuses is not drawn. The service's tests run on libSQL only. Tests in browsers run for src/browser/ and src/react/ only.

A change after which no program can behave differently stands in scripts/mutate/equivalent.json with the reason.

  --random N         how many (default: 30; of these two thirds in the core and one third in the service if no room is named)
  --seed S           draws the same ones again (default: a new seed, which is printed)
  --room NAME        core, service (its token and consent rooms), or a folder or file of src/ or service/src/; more than once
  --at FILE:LINE     every change of this line instead of random ones
  --silence-limit S  seconds without a result after which a test run counts as hanging (default: 600)
  -h, --help         this text

Exit codes: 0 at least 97 % were noticed, 1 fewer were, 2 the arguments are wrong.
`

const options = {
  random: { type: 'string' },
  seed: { type: 'string' },
  room: { type: 'string', multiple: true },
  at: { type: 'string' },
  'silence-limit': { type: 'string' },
} as const

interface Flags {
  random?: string
  seed?: string
  room?: string[]
  at?: string
  'silence-limit'?: string
}

const root = fileURLToPath(new URL('../', import.meta.url))
const leastShare = 0.97

await runCommand({ name: 'mutate', help, options }, async (flags) => {
  const [count, seed, silenceLimitS] = [
    flags.random ?? '30',
    flags.seed ?? randomInt(2 ** 31),
    flags['silence-limit'] ?? 600,
  ].map(Number)
  if (!isCount(count) || !isCount(silenceLimitS) || seed === undefined || !Number.isSafeInteger(seed)) {
    process.stderr.write('mutate: --random, --seed and --silence-limit take whole numbers\n')
    return exitCodes.usage
  }
  await installOwnPackages('tests')
  const workshop = openWorkshop(root)
  process.once('SIGINT', () => process.exit(130))
  process.once('exit', workshop.remove)
  const asked = chosen(flags, workshop, count, seed)
  if (asked.length === 0) {
    process.stderr.write('mutate: no source file of that name has a place to change\n')
    return exitCodes.usage
  }
  return tryAll(asked, workshop, { seed, silenceLimitS })
})

function isCount(value: number | undefined): value is number {
  return Number.isSafeInteger(value) && (value ?? 0) > 0
}

function chosen({ at, room }: Flags, { files, read }: Workshop, count: number, seed: number): Mutant[] {
  const sources = files.filter((file) => /^(?:service\/)?src\//.test(file))
  const isFit = compilerOf(root, sources, read)
  const all = (isWanted: (file: string) => boolean): Mutant[] =>
    sources.filter(isWanted).flatMap((file) => mutantsOf(file, read(file)))
  const [place, line] = at?.split(':') ?? []
  if (place !== undefined)
    return all((file) => file === place).filter((mutant) => mutant.line === Number(line) && isFit(mutant))
  if (room)
    return draw(
      all((file) => room.some((name) => roomOf(name)(file))),
      { count, seed, isFit },
    )
  const ofService = Math.floor(count / 3)
  const ofCore = draw(all(roomOf('core')), { count: count - ofService, seed, isFit })
  return [...ofCore, ...draw(all(roomOf('service')), { count: ofService, seed, isFit })]
}

interface Limits {
  readonly seed: number
  readonly silenceLimitS: number
}

async function tryAll(
  mutants: readonly Mutant[],
  workshop: Workshop,
  { seed, silenceLimitS }: Limits,
): Promise<number> {
  process.stdout.write(`${mutants.length} changes, seed ${seed}\n`)
  const verdicts: Verdict[] = []
  for (const [index, mutant] of mutants.entries()) {
    const place = `${index + 1}/${mutants.length} ${mutant.file}:${mutant.line}  ${short(mutant.was)}  →  ${short(mutant.becomes)}`
    if (isEquivalent(mutant)) {
      process.stdout.write(`${place}\n    listed as equivalent\n`)
      continue
    }
    const startMs = performance.now()
    const verdict = await judge(mutant, workshop, silenceLimitS)
    const tookS = Math.round((performance.now() - startMs) / 1_000)
    verdicts.push(verdict)
    process.stdout.write(
      `${place}\n    ${verdict.outcome === 'killed' ? 'killed by' : 'SURVIVED'} ${verdict.by} (${tookS} s)\n`,
    )
  }
  await expectPassing(verdicts, workshop, silenceLimitS)
  const killed = verdicts.filter(({ outcome }) => outcome === 'killed').length
  const survived = verdicts.length - killed
  process.stdout.write(
    `${killed} killed, ${survived} survived, ${mutants.length - verdicts.length} listed as equivalent\n`,
  )
  return killed >= leastShare * verdicts.length ? exitCodes.ok : exitCodes.failed
}

/** What killed a mutant has to pass without one. */
async function expectPassing(verdicts: readonly Verdict[], workshop: Workshop, silenceLimitS: number): Promise<void> {
  const files = [...new Set(verdicts.flatMap(({ testFile }) => testFile ?? []))]
  if (files.length === 0) return
  process.stdout.write(`the ${files.length} files that failed, without a change: `)
  const { outcome, output } = await workshop.test(files, silenceLimitS)
  process.stdout.write(`${outcome}\n`)
  if (outcome !== 'passed') throw new Error(`the tests do not pass without a change:\n${output.slice(-4_000)}`)
}

function short(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length > 60 ? `${line.slice(0, 57)}…` : line
}
