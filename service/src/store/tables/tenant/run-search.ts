import type { ExpressionWrapper, RawBuilder, SqlBool } from 'kysely'
import { type ExpressionBuilder, sql } from 'kysely'
import type { RawDatabase } from '../../database.ts'
import type { QueryTraits } from '../../engine/engine.ts'
import { queryTraitsOf } from '../../engine/engine.ts'
import type { Tables } from '../../schema.ts'
import type { Filter, Found, Search } from './checked-search.ts'
import { foldCase } from './checked-search.ts'

type SearchedTable = 'parent_agents' | 'llm_models'
type Condition = ExpressionWrapper<Tables, SearchedTable, SqlBool>

interface Searched<Column extends string> {
  table: SearchedTable
  tenantId: string
  search: Search<Column>
  /** Returns ids that include those of all hits. Without it, or if it returns undefined, the query has no list of ids. */
  candidates?: (tx: RawDatabase) => Promise<number[] | undefined>
}

/** Finds the ids of one page and the count of all hits, both of one tenant and of one moment. */
export async function searchTenant<Column extends string>(
  db: RawDatabase,
  { table, tenantId, search, candidates }: Searched<Column>,
): Promise<Found<number>> {
  // Both queries read the same snapshot, even if others commit between them.
  const reading = db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
  return reading.execute(async (tx) => {
    const ids = await candidates?.(tx)
    if (ids?.length === 0) return { rows: [], count: 0 }
    // Only PostgreSQL knows `any`. On libSQL there are no ids here: a search of models passes no `candidates`, a search of agents with a
    // search value runs in steps (parent-agents.ts), and for one without, `fewCandidates` returns undefined.
    const scoped = () =>
      tx
        .selectFrom(table)
        .where((where) => where.and([where('tenant_id', '=', tenantId), ...conditions(where, search, tx)]))
        .$if(ids !== undefined, (all) => all.where('id', '=', sql<number>`any(${ids})`))
    const total = await scoped()
      .select((select) => [
        select.fn.countAll<number | string | bigint>().as('count'),
        select.fn.min('tenant_id').as('first_tenant'),
        select.fn.max('tenant_id').as('last_tenant'),
      ])
      .executeTakeFirstOrThrow()
    const count = Number(total.count)
    const page = search.sort
      .reduce((query, { column, direction }) => query.orderBy(columnOf(column), direction), scoped())
      .orderBy('id')
      .select(['id', 'tenant_id'])
      .limit(search.limit)
      .offset(search.offset)
    // Without a hit, this query would read every text once more.
    const rows = count > search.offset ? await page.execute() : []
    for (const tenant of [total.first_tenant, total.last_tenant, ...rows.map((row) => row.tenant_id)]) {
      requireTenant(tenant, tenantId)
    }
    return { rows: rows.map((row) => row.id), count }
  })
}

/** Throws if a query returned the row of another tenant, because it lost its tenant predicate (S-067). */
export function requireTenant(found: string | null, tenantId: string): void {
  if (found !== null && found !== tenantId) throw new Error('a query returned the row of another tenant')
}

/** Returns what a hit fulfills. The text is last, because it costs most and other conditions can spare it. */
export function conditions<Column extends string>(
  where: ExpressionBuilder<Tables, SearchedTable>,
  { searchValue, filter }: Pick<Search<Column>, 'searchValue' | 'filter'>,
  db: RawDatabase,
): Condition[] {
  const { textPosition } = queryTraitsOf(db)
  const text = searchValue === undefined ? [] : [where(positionOf(searchValue, textPosition), '>', 0)]
  return [conditionOf(where, filter), ...text]
}

/** Searches literal text (S-069). LIKE would need escapes, and its time can grow with the product of both lengths. */
function positionOf(searchValue: string, textPosition: QueryTraits['textPosition']) {
  return sql<number>`${sql.raw(textPosition)}(search_text, ${foldCase(searchValue)})`
}

function conditionOf<Column extends string>(
  where: ExpressionBuilder<Tables, SearchedTable>,
  filter: Filter<Column>,
): Condition {
  if (filter.kind === 'equals') return where(columnOf(filter.column), '=', filter.value)
  const parts = filter.filters.map((part) => conditionOf(where, part))
  return filter.kind === 'all' ? where.and(parts) : where.or(parts)
}

/** Maps the one column that the API calls by another name. */
export function columnOf(column: string): RawBuilder<string | number> {
  return sql.ref<string | number>(column === 'tenant' ? 'tenant_id' : column)
}
