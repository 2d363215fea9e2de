import { randomInt } from 'node:crypto'
import { exitCodes } from '../flags.ts'
import { installOwnPackages } from '../own-packages.ts'
import { compilerOf } from './compiler.ts'
import { draw, roomOf } from './draw.ts'
import { isEquivalent } from './equivalent.ts'
import { judge, type Verdict } from './judge.ts'
import { type Mutant, mutantsOf } from './mutants.ts'
import { linkedSets, openWorkshop, type Workshop } from './workshop.ts'

/** The flags of `npm run mutate -- --random` and `--at`. */
export interface RandomFlags {
  random?: string
  seed?: string
  room?: string[]
  at?: string
  'silence-limit'?: string
}

const leastShare = 0.97

/** Tries random changes, or all of one line, and returns the exit code. */
export async function tryRandom(flags: RandomFlags, root: string): Promise<number> {
  const [count, seed, silenceLimitS] = [
    flags.random ?? 1,
    flags.seed ?? randomInt(2 ** 31),
    flags['silence-limit'] ?? 600,
  ].map(Number)
  if (!isCount(count) || !isCount(silenceLimitS) || seed === undefined || !Number.isSafeInteger(seed)) {
    process.stderr.write('mutate: --random, --seed and --silence-limit take whole numbers\n')
    return exitCodes.usage
  }
  for (const set of linkedSets) await installOwnPackages(set)
  const workshop = openWorkshop(root)
  process.once('SIGINT', () => process.exit(130))
  process.once('exit', workshop.remove)
  const asked = chosen(flags, workshop, { root, count, seed })
  if (asked.length === 0) {
    process.stderr.write('mutate: no source file of that name has a place to change\n')
    return exitCodes.usage
  }
  return tryAll(asked, workshop, { seed, silenceLimitS })
}

function isCount(value: number | undefined): value is number {
  return Number.isSafeInteger(value) && (value ?? 0) > 0
}

interface Choice {
  readonly root: string
  readonly count: number
  readonly seed: number
}

function chosen({ at, room }: RandomFlags, { files, read }: Workshop, { root, count, seed }: Choice): Mutant[] {
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

/** The test files that failed must pass without a change. */
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
