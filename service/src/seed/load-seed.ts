import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type * as z from 'zod'
import { inMebibytes } from '../byte-count.ts'
import type { Seed } from '../seed-types.ts'
import { checkSeed } from './check-seed.ts'
import { parseText } from './parse-text.ts'
import type { Path } from './parsed-text.ts'
import { pathText, SeedError } from './seed-error.ts'
import { seedLimits } from './seed-limits.ts'
import { seedSchema } from './seed-schema.ts'

export { worldOf } from './world-of-seed.ts'

/**
 * Reads and checks a seed: the path of a file (`fileBytes`, 32 MiB), or an object. Rejects with a SeedError that names the first
 * mistake and its place. Only an empty database is filled with it (fill-database.ts).
 */
export async function loadSeed(seed: string | Seed): Promise<Seed> {
  if (typeof seed !== 'string') return checked(seed, { placeOf: () => undefined })
  const text = await readSeedFile(seed)
  try {
    const { value, placeOf } = await parseText(text, /\.json$/i.test(seed) ? 'JSON' : 'YAML')
    return checked(value, { file: seed, placeOf })
  } catch (error) {
    if (!(error instanceof SeedError) || error.file !== undefined) throw error
    throw new SeedError(error.problem, { file: seed, place: error.place, path: error.path })
  }
}

interface Source {
  file?: string
  placeOf(path: Path): string | undefined
}

function checked(value: unknown, { file, placeOf }: Source): Seed {
  const fail = (problem: string, path: Path): never => {
    throw new SeedError(problem, { file, place: placeOf(path), path: pathText(path) })
  }
  const parsed = seedSchema.safeParse(value)
  const issues = parsed.error?.issues ?? []
  // A misspelt member is often the one that is missing elsewhere.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]
  if (parsed.data === undefined) return fail(issueText(issue, value), issuePath(issue))
  const problem = checkSeed(parsed.data)
  return problem === undefined ? parsed.data : fail(problem.text, problem.path)
}

type Issue = z.core.$ZodIssue | undefined

function issuePath(issue: Issue): Path {
  if (issue?.code !== 'unrecognized_keys') return issue?.path ?? []
  return [...issue.path, issue.keys[0] ?? '']
}

const kinds: Record<string, string> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

/** Says what is wrong without the value, which may be a secret. */
function issueText(issue: Issue, root: unknown): string {
  if (issue?.code === 'invalid_value') return `must be ${issue.values.join(' or ')}`
  if (issue?.code === 'too_small') return `needs at least ${issue.minimum}`
  if (issue?.code === 'too_big') return `may have at most ${issue.maximum}`
  if (issue?.code !== 'invalid_type') return issue?.message ?? 'is no seed'
  const value = issue.path.reduce<unknown>(
    (all, step) => (all as Record<PropertyKey, unknown> | undefined)?.[step],
    root,
  )
  if (value === undefined) return 'is missing'
  const isBare = issue.expected === 'string' && (typeof value === 'number' || typeof value === 'boolean')
  return `must be ${kinds[issue.expected] ?? issue.expected}${isBare ? '; write it in quotes' : ''}`
}

async function readSeedFile(file: string): Promise<string> {
  const fail = (problem: string): never => {
    throw new SeedError(problem, { file })
  }
  const tooLarge = `larger than the ${inMebibytes(seedLimits.fileBytes)} of a seed`
  try {
    if ((await stat(file)).size > seedLimits.fileBytes) return fail(tooLarge)
    const bytes = await readFile(file)
    if (bytes.length > seedLimits.fileBytes) return fail(tooLarge)
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (error instanceof SeedError) throw error
    const tried = JSON.stringify(resolve(file))
    if (code === 'ENOENT') return fail(`there is no file ${tried}`)
    if (code === 'EISDIR') return fail(`${tried} is a folder; give the path of a file`)
    return fail(code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'not UTF-8' : `${tried} cannot be read (${code})`)
  }
}
