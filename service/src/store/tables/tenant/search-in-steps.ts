import { storeLimits } from '../../../limits.ts'
import type { RawDatabase } from '../../database.ts'
import type { Candidates } from './candidates.ts'
import { candidates } from './candidates.ts'
import type { Found, Search } from './checked-search.ts'
import { requiredEquals } from './indexed-filters.ts'
import { conditions } from './run-search.ts'
import type { Steps } from './search-order.ts'
import { idsOf, inOrder } from './search-order.ts'

/**
 * Finds the ids of one page and the count of all hits in steps with pauses between them, because queries of libSQL hold the event
 * loop and reading the longest texts of all agents takes seconds. A step compares `comparedRows`, 500 rows, or searches the
 * text of `textRows`, 64. All steps see the agents of the first one, because agents are added with rising ids and never change.
 */
export async function searchInSteps<Column extends string>(
  db: RawDatabase,
  steps: Steps<Column>,
): Promise<Found<number>> {
  const { search, pause } = steps
  const { ids, are } = await candidates(db, steps)
  const hits: number[] = []
  const stepRows = search.searchValue === undefined ? storeLimits.comparedRows : storeLimits.textRows
  for (let at = 0; at < ids.length; at += stepRows) {
    await pause()
    hits.push(...(await hitsAmong(db, steps, { ids: ids.slice(at, at + stepRows), are })))
  }
  await pause()
  const ordered = await inOrder(db, steps, hits)
  return { rows: ordered.slice(search.offset, search.offset + search.limit), count: hits.length }
}

/**
 * Returns whether one index gives both page and count, so that the search of a full tenant holds the event loop for a moment only. The
 * search may have one comparison and one sort column at most, and no search value. Each column has an index that also holds the id. One
 * more index has `active` and `agent_name` (migrations/004-search-indexes.ts).
 */
export function isReadFromIndex<Column extends string>({ searchValue, filter, sort }: Search<Column>): boolean {
  const filters = requiredEquals(filter)
  if (searchValue !== undefined || filters === undefined || filters.length > 1 || sort.length > 1) return false
  const [filtered, sorted] = [filters[0]?.column, sort[0]?.column]
  const isOneIndex = filtered === 'active' && sorted === 'agent_name'
  return filtered === undefined || sorted === undefined || sorted === 'id' || filtered === sorted || isOneIndex
}

async function hitsAmong<Column extends string>(
  db: RawDatabase,
  { tenantId, search }: Steps<Column>,
  { ids, are }: Candidates,
): Promise<number[]> {
  const [first = 0, last = 0] = [ids[0], ids.at(-1)]
  // Comparing with a list of ids takes twice as long.
  const isRange = are === 'in-a-row' || last - first < ids.length
  const rows = await db
    .selectFrom('parent_agents')
    .select(['id', 'tenant_id'])
    .where((where) =>
      where.and([
        where('tenant_id', '=', tenantId),
        ...(isRange ? [where('id', '>=', first), where('id', '<=', last)] : [where('id', 'in', ids)]),
        ...conditions(where, search, db),
      ]),
    )
    .orderBy('id')
    .execute()
  return idsOf(rows, tenantId)
}
