import { sql } from 'kysely'
import { storeLimits } from '../../../limits.ts'
import type { RawDatabase } from '../../database.ts'
import type { Pause, Search } from './checked-search.ts'
import { columnOf, requireTenant } from './run-search.ts'

/** A search that pauses between its queries. */
export interface Steps<Column extends string> {
  tenantId: string
  search: Search<Column>
  pause: Pause
}

/** Returns the ids in the order of a search. */
export function inOrder<Column extends string>(
  db: RawDatabase,
  steps: Steps<Column>,
  hits: number[],
): Promise<number[]> {
  if (steps.search.sort.length === 0 || hits.length < 2) return Promise.resolve(hits)
  return hits.length > storeLimits.textRows ? byRanks(db, steps, hits) : byDatabase(db, steps, hits)
}

async function byDatabase<Column extends string>(
  db: RawDatabase,
  { tenantId, search }: Steps<Column>,
  hits: number[],
): Promise<number[]> {
  const some = db.selectFrom('parent_agents').where('tenant_id', '=', tenantId).where('id', 'in', hits)
  const rows = await search.sort
    .reduce((query, { column, direction }) => query.orderBy(columnOf(column), direction), some)
    .orderBy('id')
    .select(['id', 'tenant_id'])
    .execute()
  return idsOf(rows, tenantId)
}

/** Sorts by ranks, because the database would sort long names of many agents in one go. */
async function byRanks<Column extends string>(
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
  let rank = 0
  /** An agent with the last value. */
  let lastRanked: number | undefined
  for (;;) {
    const groups = await groupsBy(db, { tenantId, column, afterId: lastRanked })
    for (const { ids } of groups) {
      for (const id of ids) rankById.set(id, rank)
      lastRanked = ids[0]
      rank += 1
    }
    await pause()
    if (groups.length < storeLimits.comparedRows) return rankById
  }
}

/**
 * Returns agents in groups with the same value, in the order of a column, from the value after that of `afterId` on. libSQL only
 * (`searchInSteps`).
 */
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

/** Returns the ids of rows. Throws if one is of another tenant. */
export function idsOf(rows: { id: number; tenant_id: string }[], tenantId: string): number[] {
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
