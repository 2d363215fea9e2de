import type { Path } from './parsed-text.ts'
import { seedLimits } from './seed-limits.ts'

/**
 * Returns the text outside of strings that matters, and strings, each with its offset. Numbers and words need no token of their own:
 * they begin a value.
 */
function* tokensOf(text: string): Generator<[token: string, offset: number]> {
  const begin = /["{}[\],:]|[^\s{}[\],:"]+/g
  for (let found = begin.exec(text); found !== null; found = begin.exec(text)) {
    const { index } = found
    if (found[0] === '"') begin.lastIndex = endOfString(text, index)
    yield [text.slice(index, begin.lastIndex), index]
  }
}

/** Searches in steps, because one pattern for a whole string overflows its stack at some megabytes. */
function endOfString(text: string, start: number): number {
  let end = start + 1
  while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1
  return end + 1
}

interface Level {
  kind: 'object' | 'array'
  /** The member or the item that is being read. */
  at: string | number
  names: Set<string>
}

interface Found {
  offset: number
  path: Path
}

/**
 * Finds the member or item that a test accepts, in text that `JSON.parse` accepts. The second argument of the test says whether the
 * object had this member before.
 */
function find(text: string, accepts: (levels: readonly Level[], isRepeated: boolean) => boolean): Found | undefined {
  const levels: Level[] = []
  let next: 'name' | 'value' | 'end' = 'value'
  for (const [token, offset] of tokensOf(text)) {
    const level = levels.at(-1)
    if (token === ':') next = 'value'
    else if (token === '}' || token === ']') {
      levels.pop()
      next = 'end'
    } else if (token === ',') {
      if (level?.kind === 'array') level.at = Number(level.at) + 1
      next = level?.kind === 'array' ? 'value' : 'name'
    } else {
      const name = next === 'name' ? String(JSON.parse(token)) : undefined
      if (level !== undefined && name !== undefined) level.at = name
      const isItem = next === 'value' && level?.kind === 'array'
      const isRepeated = name !== undefined && level?.names.has(name) === true
      if ((isItem || name !== undefined) && accepts(levels, isRepeated))
        return { offset, path: levels.map(({ at }) => at) }
      if (name !== undefined) level?.names.add(name)
      next = 'end'
      if (token === '{' || token === '[') {
        const kind = token === '{' ? 'object' : 'array'
        levels.push({ kind, at: kind === 'array' ? 0 : '', names: new Set() })
        next = kind === 'array' ? 'value' : 'name'
      }
    }
  }
  return undefined
}

/** Returns the offset of the member or item at this path, or of the nearest one around it. */
export function offsetOf(text: string, path: Path): number {
  if (path.length === 0) return 0
  const isHere = (levels: readonly Level[]): boolean =>
    levels.length === path.length && levels.every(({ at }, index) => at === path[index])
  return find(text, isHere)?.offset ?? offsetOf(text, path.slice(0, -1))
}

/**
 * Returns what `JSON.parse` accepts and a seed may not have: a member that an object has twice, of which it takes the last, and values
 * that are nested too deep.
 */
export function problemIn(text: string): (Found & { text: string }) | undefined {
  const found = find(text, (levels, isRepeated) => isRepeated || levels.length > seedLimits.depth)
  if (found === undefined) return undefined
  const isDeep = found.path.length > seedLimits.depth
  return { ...found, text: isDeep ? `nested deeper than ${seedLimits.depth} levels` : 'this member is there twice' }
}
