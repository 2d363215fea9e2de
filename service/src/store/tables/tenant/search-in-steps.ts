import { storeLimits } from '../../../limits.ts'
import type { RawDatabase } from '../../database.ts'
import type { Filter, Found, Search } from './search.ts'
import type { Steps } from './search-order.ts'
import { idsOf, inOrder } from './search-order.ts'
import { columnOf, conditions } from './tenant-search.ts'

/** Filters by these columns leave the fewest agents, in this order. Each has an index that also holds the id. */
const narrowColumns = ['id', 'agent_key', 'agent_name', 'parent_agent_type_key', 'llm_model', 'active']

/**
 * Finds the ids of one page and the count of all hits in steps with pauses between them, because queries of libSQL hold the event
 * loop and reading the longest texts of all agents takes seconds. A step compares `comparedRows`, 500 rows, or searches the
 * text of `textRows`, 64. All steps see the agents of the first one, because
 * agents are added with rising ids and never change.
 */
export async function searchInSteps<Column extends string>(
  db: RawDatabase,
  steps: Steps<Column>,
): Promise<Found<number>> {
  const { search, pause } = steps
  const narrow = narrowing(search.filter)
  const ids = await candidates(db, steps, narrow)
  const hits: number[] = []
  const stepRows = search.searchValue === undefined ? storeLimits.comparedRows : storeLimits.textRows
  for (let at = 0; at < ids.length; at += stepRows) {
    await pause()
    const part = ids.slice(at, at + stepRows)
    hits.push(...(await hitsAmong(db, steps, { ids: part, are: narrow.length === 0 ? 'in-a-row' : 'apart' })))
  }
  await pause()
  const ordered = await inOrder(db, steps, hits)
  return { rows: ordered.slice(search.offset, search.offset + search.limit), count: hits.length }
}

/**
 * Returns whether an index gives page and count, so that the search of a full tenant holds the event loop for a moment only. True if
 * there is at most one comparison and one sort column, and one index has both: each column has an index with the id, and `active`
 * one with `agent_name` (migrations/004-search-indexes.ts).
 */
export function isReadFromIndex<Column extends string>({ searchValue, filter, sort }: Search<Column>): boolean {
  const filters = requiredEquals(filter)
  if (searchValue !== undefined || filters === undefined || filters.length > 1 || sort.length > 1) return false
  const [filtered, sorted] = [filters[0]?.column, sort[0]?.column]
  const isOneIndex = filtered === 'active' && sorted === 'agent_name'
  return filtered === undefined || sorted === undefined || sorted === 'id' || filtered === sorted || isOneIndex
}

type Equals<Column extends string> = Extract<Filter<Column>, { kind: 'equals' }>

/** Returns the comparisons of a filter that is nothing but comparisons that must all hold, else undefined. */
function requiredEquals<Column extends string>(filter: Filter<Column>): Equals<Column>[] | undefined {
  if (filter.kind === 'equals') return [filter]
  if (filter.kind === 'any') return undefined
  const parts = filter.filters.map(requiredEquals)
  return parts.every((part) => part !== undefined) ? parts.flat() : undefined
}

/**
 * Returns comparisons with an index, of which each hit fulfills at least one: the most selective required one, else the first group
 * of alternatives, else none.
 */
function narrowing<Column extends string>(filter: Filter<Column>): Equals<Column>[] {
  const parts = filter.kind === 'all' ? filter.filters : [filter]
  const required = parts.flatMap((part) => requiredEquals(part) ?? [])
  for (const column of narrowColumns) {
    const found = required.find((equals) => equals.column === column)
    if (found !== undefined) return [found]
  }
  const groups = parts.flatMap((part) => (part.kind === 'any' ? [part.filters] : []))
  return groups.map(differentEquals).find((group) => group.length > 0) ?? []
}

/** Returns the comparisons of a group, each once, if it has nothing else, because an index is read for each. */
function differentEquals<Column extends string>(group: Filter<Column>[]): Equals<Column>[] {
  const equals = group.filter((part) => part.kind === 'equals')
  if (equals.length < group.length || !equals.every(({ column }) => narrowColumns.includes(column))) return []
  return [...new Map(equals.map((part) => [JSON.stringify([part.column, part.value]), part])).values()]
}

/** Returns the ids among which all hits are, in rising order. */
async function candidates<Column extends string>(
  db: RawDatabase,
  { tenantId }: Steps<Column>,
  narrow: Equals<Column>[],
): Promise<number[]> {
  const rows = await db
    .selectFrom('parent_agents')
    .select(['id', 'tenant_id'])
    .where('tenant_id', '=', tenantId)
    .$if(narrow.length > 0, (all) =>
      all.where((where) => where.or(narrow.map(({ column, value }) => where(columnOf(column), '=', value)))),
    )
    .orderBy('id')
    .execute()
  return idsOf(rows, tenantId)
}

async function hitsAmong<Column extends string>(
  db: RawDatabase,
  { tenantId, search }: Steps<Column>,
  { ids, are }: { ids: number[]; are: 'in-a-row' | 'apart' },
): Promise<number[]> {
  const rows = await db
    .selectFrom('parent_agents')
    .select(['id', 'tenant_id'])
    .where((where) =>
      where.and([
        where('tenant_id', '=', tenantId),
        ...(are === 'apart'
          ? [where('id', 'in', ids)]
          : [where('id', '>=', ids[0] ?? 0), where('id', '<=', ids.at(-1) ?? 0)]),
        ...conditions(where, search, db),
      ]),
    )
    .orderBy('id')
    .execute()
  return idsOf(rows, tenantId)
}
