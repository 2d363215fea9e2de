import * as z from 'zod'
import { problemText } from '../issue-text.ts'
import { checkSeed } from './check-seed.ts'
import { readSeedFile } from './read-seed-file.ts'
import { SeedError } from './seed-error.ts'
import type { Seed } from './seed-schema.ts'
import { parseSeed } from './seed-schema.ts'

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
