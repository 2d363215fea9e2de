import type { ExpressionBuilder, ExpressionWrapper, RawBuilder, SqlBool } from 'kysely'
import { sql } from 'kysely'
import type { RawDatabase } from '../../database.ts'
import { queryTraitsOf } from '../../engine/engine.ts'
import type { Tables } from '../../schema.ts'

/** A search whose columns were checked against an allow-list. */
export interface Search<Column extends string> {
  limit: number
  offset: number
  searchValue: string | undefined
  filter: Filter<Column>
  sort: SortKey<Column>[]
}

export type Filter<Column extends string> =
  | { kind: 'equals'; column: Column; value: string | number }
  | { kind: 'all' | 'any'; filters: Filter<Column>[] }

export interface SortKey<Column extends string> {
  column: Column
  direction: 'asc' | 'desc'
}

export interface Found<Row> {
  rows: Row[]
  count: number
}

type SearchedTable = 'parent_agents' | 'llm_models'
type Condition = ExpressionWrapper<Tables, SearchedTable, SqlBool>

/**
 * Finds the ids of one page and the count of all hits, both of one moment, by scans of the rows of one tenant. Without an order, or among
 * equals, rows come by id.
 */
export function searchTenant<Column extends string>(
  db: RawDatabase,
  { table, tenantId, search }: { table: SearchedTable; tenantId: string; search: Search<Column> },
): Promise<Found<number>> {
  const { searchValue, filter, sort, limit, offset } = search
  const snapshot = db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
  return snapshot.execute(async (tx) => {
    const hits = tx
      .selectFrom(table)
      .where('tenant_id', '=', tenantId)
      .where((where) => conditionOf(where, filter))
      // The text is last, because it costs most.
      .$if(searchValue !== undefined, (rows) => rows.where(positionOf(searchValue ?? '', tx), '>', 0))
    const { first, last, ...total } = await hits
      .select(({ fn }) => [fn.countAll().as('count'), fn.min('tenant_id').as('first'), fn.max('tenant_id').as('last')])
      .executeTakeFirstOrThrow()
    const count = Number(total.count)
    const page = sort.reduce((rows, { column, direction }) => rows.orderBy(columnOf(column), direction), hits)
    const rows =
      count > offset ? await page.select(['id', 'tenant_id']).orderBy('id').limit(limit).offset(offset).execute() : []
    for (const tenant of [first, last, ...rows.map((row) => row.tenant_id)]) requireTenant(tenant, tenantId)
    return { rows: rows.map(({ id }) => id), count }
  })
}

/** Throws if a query returned the row of another tenant, because it lost its tenant predicate. */
export function requireTenant(found: string | null, tenantId: string): void {
  if (found !== null && found !== tenantId) throw new Error('a query returned the row of another tenant')
}

/** Searches literal text. LIKE would need escapes, and its time can grow with the product of both lengths. */
function positionOf(searchValue: string, db: RawDatabase): RawBuilder<number> {
  return sql<number>`${sql.raw(queryTraitsOf(db).textPosition)}(search_text, ${foldCase(searchValue)})`
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
function columnOf(column: string): RawBuilder<string | number> {
  return sql.ref<string | number>(column === 'tenant' ? 'tenant_id' : column)
}

/** No search finds it, because `foldCase` replaces the line breaks of fields and of search values. */
const betweenFields = '\n'
/** Stands for a line break. No letter becomes it, because `foldCase` makes letters small before. */
const lineBreak = '\u00c0'

/**
 * Returns the text of a row in which a search looks for its value. It is folded here, because databases fold letters differently. Stored
 * rows have it, so a change needs a migration.
 */
export function searchTextOf(fields: string[]): string {
  return fields.map(foldCase).join(betweenFields)
}

/** Folds a text to lower case in NFC. Σ becomes σ everywhere, because a search value can end in the middle of a word. */
function foldCase(text: string): string {
  return text.toLowerCase().normalize('NFC').replaceAll('ς', 'σ').replaceAll('\n', lineBreak)
}
