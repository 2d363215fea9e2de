import { sql } from 'kysely'
import { storeLimits } from '../../../limits.ts'
import type { RawDatabase } from '../../database.ts'
import type { Filter, Found, Pause, Search } from './search.ts'
import { columnOf, conditions, requireTenant } from './tenant-search.ts'

interface Steps<Column extends string> {
  tenantId: string
  search: Search<Column>
  pause: Pause
}

/** Filters by these columns leave the fewest agents, in this order. Each has an index that also holds the id. */
const narrowColumns = ['id', 'agent_key', 'agent_name', 'parent_agent_type_key', 'llm_model', 'active']

/**
 * Finds the ids of one page and the count of all hits in steps with pauses between them, because queries of libSQL hold the event
 * loop and reading the longest texts of all agents takes seconds. All steps see the agents of the first one, because
 * agents are added with rising ids and never change.
 */
export async function searchInSteps<Column extends string>(
  db: RawDatabase,
  steps: Steps<Column>,
): Promise<Found<number>> {
  const { search, pause } = steps
  const ids = await candidates(db, steps)
  const hits: number[] = []
  const stepRows = search.searchValue === undefined ? storeLimits.comparedRows : storeLimits.textRows
  for (let at = 0; at < ids.length; at += stepRows) {
    await pause()
    hits.push(...(await hitsAmong(db, steps, ids.slice(at, at + stepRows))))
  }
  await pause()
  const ordered = search.sort.length === 0 ? hits : await inOrder(db, steps, hits)
  return { rows: ordered.slice(search.offset, search.offset + search.limit), count: hits.length }
}

/** Returns whether an index gives page and count, so that the search of a full tenant holds the event loop for a moment only. */
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

/** Returns the ids among which all hits are, in rising order: all of the tenant, or those that one filter leaves. */
async function candidates<Column extends string>(
  db: RawDatabase,
  { tenantId, search }: Steps<Column>,
): Promise<number[]> {
  const filters = search.filter.kind === 'all' ? search.filter.filters : [search.filter]
  const required = filters.flatMap((filter) => requiredEquals(filter) ?? [])
  const narrow = narrowColumns
    .flatMap((column) => required.find((filter) => filter.column === column) ?? [])
    .slice(0, 1)
  const rows = await db
    .selectFrom('parent_agents')
    .select(['id', 'tenant_id'])
    .where((where) =>
      where.and([
        where('tenant_id', '=', tenantId),
        ...narrow.map(({ column, value }) => where(columnOf(column), '=', value)),
      ]),
    )
    .orderBy('id')
    .execute()
  return idsOf(rows, tenantId)
}

async function hitsAmong<Column extends string>(
  db: RawDatabase,
  { tenantId, search }: Steps<Column>,
  ids: number[],
): Promise<number[]> {
  const rows = await db
    .selectFrom('parent_agents')
    .select(['id', 'tenant_id'])
    .where((where) =>
      where.and([
        where('tenant_id', '=', tenantId),
        where('id', '>=', ids[0] ?? 0),
        where('id', '<=', ids.at(-1) ?? 0),
        ...conditions(where, search, db),
      ]),
    )
    .orderBy('id')
    .execute()
  return idsOf(rows, tenantId)
}

/** Sorts by ranks, because the database would sort long names of many agents in one go. */
async function inOrder<Column extends string>(
  db: RawDatabase,
  { tenantId, search, pause }: Steps<Column>,
  hits: number[],
): Promise<number[]> {
  const columns = search.sort.map(({ column }) => column)
  const keys = search.sort.filter(({ column }, index) => columns.indexOf(column) === index)
  const ranks: ((id: number) => number)[] = []
  for (const { column, direction } of keys) {
    const rankById = await ranksBy(db, { tenantId, column, pause })
    const sign = direction === 'asc' ? 1 : -1
    ranks.push((id) => sign * (rankById.get(id) ?? 0))
  }
  return hits
    .map((id) => ({ id, places: [...ranks.map((rankOf) => rankOf(id)), id] }))
    .sort((left, right) => compare(left.places, right.places))
    .map(({ id }) => id)
}

/** Reads the agents of a tenant in the order of one column, from its index. Agents with the same value have the same rank. */
async function ranksBy(
  db: RawDatabase,
  { tenantId, column, pause }: { tenantId: string; column: string; pause: Pause },
): Promise<Map<number, number>> {
  const rankById = new Map<number, number>()
  let lastId: number | undefined
  for (let rank = 0; ; ) {
    const groups = await groupsBy(db, { tenantId, column, afterId: lastId })
    for (const { ids } of groups) {
      for (const id of ids) rankById.set(id, rank)
      lastId = ids[0]
      rank += 1
    }
    await pause()
    if (groups.length < storeLimits.comparedRows) return rankById
  }
}

/** Returns the ids of agents by the next values of a column, after the value of one agent. */
async function groupsBy(
  db: RawDatabase,
  { tenantId, column, afterId }: { tenantId: string; column: string; afterId: number | undefined },
): Promise<{ ids: number[] }[]> {
  const ofTenant = db.selectFrom('parent_agents').where('tenant_id', '=', tenantId)
  const last = ofTenant.where('id', '=', afterId ?? 0).select(columnOf(column).as('value'))
  const groups = await ofTenant
    .$if(afterId !== undefined, (next) => next.where(columnOf(column), '>', last))
    .select((select) => [
      sql<string>`group_concat(id)`.as('ids'),
      select.fn.min('tenant_id').as('first_tenant'),
      select.fn.max('tenant_id').as('last_tenant'),
    ])
    .groupBy(columnOf(column))
    .orderBy(columnOf(column))
    .limit(storeLimits.comparedRows)
    .execute()
  return groups.map(({ ids, first_tenant, last_tenant }) => {
    for (const found of [first_tenant, last_tenant]) requireTenant(found, tenantId)
    return { ids: ids.split(',').map(Number) }
  })
}

function idsOf(rows: { id: number; tenant_id: string }[], tenantId: string): number[] {
  return rows.map(({ id, tenant_id }) => {
    requireTenant(tenant_id, tenantId)
    return id
  })
}

function compare(left: number[], right: number[]): number {
  for (let at = 0; ; at += 1) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0)
    if (difference !== 0 || at >= left.length) return difference
  }
}
