import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import * as z from 'zod'
import { inMebibytes } from '../http/messages.ts'
import { problemText } from '../issue-text.ts'
import { seedLimits } from '../limits.ts'
import { checkSeed } from './check-seed.ts'
import { parseSeed, type Seed } from './seed-schema.ts'
import { SeedError } from './world.ts'

/** Reads a seed file: JSON if its name ends with `.json`, and otherwise YAML. Rejects with a SeedError without a piece of the file. */
async function readSeedFile(file: string): Promise<unknown> {
  const text = await textOf(file)
  if (text.trim() === '') throw new SeedError('the file is empty')
  return /\.json$/i.test(file) ? parseJson(text) : parseYaml(text)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const { message } = error as Error
    // At the end, because a message may quote the file.
    const offset = / at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(message)?.[1]
    // Node 20 gives no position for some mistakes.
    if (offset === undefined && !message.endsWith('end of JSON input')) throw new SeedError('not valid JSON')
    const before = text.slice(0, Number(offset ?? text.length))
    throw new SeedError(
      `not valid JSON${placeText(before.split('\n').length, before.length - before.lastIndexOf('\n'))}`,
    )
  }
}

async function parseYaml(text: string): Promise<unknown> {
  if (text.length > seedLimits.yamlBytes)
    throw new SeedError(`YAML is larger than ${inMebibytes(seedLimits.yamlBytes)}; write the seed as a .json file`)
  // Loaded for such a seed only, because loading modules takes most of a start.
  const { LineCounter, parseDocument } = await import('yaml')
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, prettyErrors: false, stringKeys: true })
  const [problem] = [...document.errors, ...document.warnings]
  if (problem !== undefined) {
    const { line, col } = lineCounter.linePos(problem.pos[0])
    const advice = 'write texts that hold { } [ ] or a colon in quotes'
    throw new SeedError(`not valid YAML${placeText(line, col)} (${problem.code}); ${advice}`)
  }
  try {
    return document.toJS({ maxAliasCount: seedLimits.aliases })
  } catch {
    throw new SeedError('an alias in the YAML repeats too much, or has no anchor before it; write the values')
  }
}

function placeText(line: number, column: number): string {
  return ` at line ${line}, column ${column}`
}

async function textOf(file: string): Promise<string> {
  const bytes = await readFile(file).catch(({ code }: { code?: unknown }) => {
    const tried = JSON.stringify(resolve(file))
    if (code === 'ENOENT') throw new SeedError(`there is no file ${tried}`)
    if (code === 'EISDIR') throw new SeedError(`${tried} is a folder; give the path of a file`)
    throw new SeedError(`${tried} cannot be read (${code})`)
  })
  if (bytes.length > seedLimits.fileBytes)
    throw new SeedError(`larger than the ${inMebibytes(seedLimits.fileBytes)} of a seed`)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new SeedError('not UTF-8')
  }
}

export { worldOf } from './world-of-seed.ts'

/** Reads and checks a seed: the path of a file, or an object. Rejects with a SeedError that names the first mistake and its path. */
export async function loadSeed(seed: string | Seed): Promise<Seed> {
  if (typeof seed !== 'string') return checked(seed)
  try {
    return checked(await readSeedFile(seed))
  } catch (error) {
    throw error instanceof SeedError ? new SeedError(error.problem, seed) : error
  }
}

function checked(value: unknown): Seed {
  try {
    const seed = parseSeed(value)
    checkSeed(seed)
    return seed
  } catch (error) {
    throw error instanceof z.ZodError ? new SeedError(problemText(error)) : error
  }
}
