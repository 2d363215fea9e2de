import type { Mutant } from './mutants.ts'

/** Folders with an entry of their own: the rest of `src/` is the core. */
const entries = /^src\/(?:api|backend|browser|postgres|react|redis|testing)\//

/** Rooms that are not one folder, by the name that `--room` takes. */
export const rooms: Record<string, (file: string) => boolean> = {
  core: (file) => file.startsWith('src/') && !entries.test(file),
  service: (file) => /^service\/src\/(?:token|authorize)\//.test(file),
}

/** Returns the predicate of a room: one of `rooms`, or a folder or file of `src/` or `service/src/`. */
export function roomOf(name: string): (file: string) => boolean {
  const isFile = (file: string): boolean =>
    new RegExp(`^(?:service/)?(?:src/)?${name.replace(/[^\w/-]/g, '\\$&')}(?:/|\\.tsx?$|$)`).test(file)
  return (Object.hasOwn(rooms, name) && rooms[name]) || isFile
}

export interface Draw {
  readonly count: number
  readonly seed: number
  /** Those that are not are put aside. */
  readonly isFit: (mutant: Mutant) => boolean
}

/** Draws mutants without putting any back: the same ones for the same seed and sources. */
export function draw(mutants: readonly Mutant[], { count, seed, isFit }: Draw): Mutant[] {
  const left = [...mutants]
  const drawn: Mutant[] = []
  const next = randomOf(seed)
  while (drawn.length < count && left.length > 0) drawn.push(...left.splice(next(left.length), 1).filter(isFit))
  return drawn
}

/** Mulberry32: whole numbers from 0 to below the limit. */
function randomOf(seed: number): (limit: number) => number {
  let state = seed >>> 0
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit)
  }
}
