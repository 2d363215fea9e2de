import { storeLimits } from '../../../limits.ts'
import { betweenFields, foldCase } from './checked-search.ts'

/**
 * Returns a number for each three consecutive code points of a search text, of one tenant. The upper 22 bits are of the tenant, so that
 * an index by these numbers keeps tenants apart. Two different trigrams seldom have the same number. A change of this
 * function, of `searchTextOf` or of `foldCase` needs a new migration that clears the index and sets `has_trigrams` to 0. `indexAgents`
 * fills it again.
 */
export function trigramsOf(tenantId: string, searchText: string): number[] {
  const found = new Set<number>()
  for (const field of searchText.split(betweenFields)) addTrigrams(found, field)
  const upper = tenantBits(tenantId) * 2 ** 31
  return Array.from(found, (lower) => upper + lower)
}

/**
 * Returns trigrams of a search value. Each search text that contains the value has all of them. Of a long value, only some are returned
 * (`comparedTrigrams`, 16 at most). A value of one or two code points has none.
 */
export function trigramsOfSearchValue(tenantId: string, searchValue: string): number[] {
  const all = trigramsOf(tenantId, foldCase(searchValue))
  const every = Math.ceil(all.length / storeLimits.comparedTrigrams)
  return all.filter((_, index) => index % every === 0)
}

const firstHash = 0x811c9dc5
const hashPrime = 0x01000193

/** Hashes to 31 bits by FNV-1a, a code point a step. */
function addTrigrams(found: Set<number>, field: string): void {
  let [first, second] = [-1, -1]
  for (let at = 0; at < field.length; ) {
    const third = field.codePointAt(at) ?? 0
    at += third > 0xffff ? 2 : 1
    if (first !== -1) found.add(hashed(hashed(hashed(firstHash, first), second), third) >>> 1)
    first = second
    second = third
  }
}

function tenantBits(tenantId: string): number {
  let hash = firstHash
  for (let at = 0; at < tenantId.length; at += 1) hash = hashed(hash, tenantId.charCodeAt(at))
  return hash >>> 10
}

function hashed(before: number, value: number): number {
  return Math.imul(before ^ value, hashPrime)
}
