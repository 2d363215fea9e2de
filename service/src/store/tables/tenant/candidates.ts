import { storeLimits } from '../../../limits.ts'
import type { RawDatabase } from '../../database.ts'
import { agentsWithTrigrams, indexed, withoutTrigrams } from './agents-with-trigrams.ts'
import type { Equals } from './indexed-filters.ts'
import { narrowing } from './indexed-filters.ts'
import { columnOf } from './run-search.ts'
import type { Steps } from './search-order.ts'
import { idsOf } from './search-order.ts'
import { trigramsOfSearchValue } from './trigrams.ts'

/** Agents among which all hits of a search are, in rising order of their ids. */
export interface Candidates {
  ids: number[]
  /** `in-a-row` if there is no other agent of the tenant between them. */
  are: 'in-a-row' | 'apart'
}

/**
 * Finds agents by an index. An index serves the filter if `narrowing` returns comparisons for it.
 *
 * - If the search value has trigrams, and an index serves the filter and finds few agents, it returns these agents.
 * - If the search value has trigrams otherwise, it returns the agents with its rarest trigrams (`agentsWithTrigrams`).
 * - If the search value has no trigrams, it returns the agents that an index finds for the filter, or all agents if none serves it.
 */
export async function candidates<Column extends string>(db: RawDatabase, steps: Steps<Column>): Promise<Candidates> {
  const { tenantId, search } = steps
  const narrow = narrowing(search.filter)
  const trigrams = trigramsOfSearchValue(tenantId, search.searchValue ?? '')
  if (trigrams.length > 0) {
    const few = await fewBy(db, tenantId, narrow)
    return { ids: few ?? (await agentsWithTrigrams(db, steps, trigrams)), are: 'apart' }
  }
  return { ids: await idsBy(db, tenantId, { narrow }), are: narrow.length > 0 ? 'apart' : 'in-a-row' }
}

/**
 * Returns the agents that have the trigrams of the search value (`trigramsOfSearchValue`), and those that the index does not have yet.
 * Returns undefined, so that the query has no list of ids, if the value has no trigrams, if the filter alone leaves few agents (the query
 * then uses the index of the filter), or if over `indexedIds`, 2,000, are found. It is for PostgreSQL, whose planner does not know how
 * many agents have all trigrams. On libSQL no search with a text comes here (parent-agents.ts), so there are no trigrams.
 */
export async function fewCandidates<Column extends string>(
  db: RawDatabase,
  { tenantId, search }: Omit<Steps<Column>, 'pause'>,
): Promise<number[] | undefined> {
  const trigrams = trigramsOfSearchValue(tenantId, search.searchValue ?? '')
  if (trigrams.length === 0 || (await fewBy(db, tenantId, narrowing(search.filter))) !== undefined) return undefined
  const found = await indexed(db, trigrams)
    .select('rowid as id')
    .unionAll(withoutTrigrams(db, tenantId).select('id'))
    .limit(storeLimits.indexedIds + 1)
    .execute()
  return found.length > storeLimits.indexedIds ? undefined : found.map(({ id }) => id)
}

/** Returns the agents of a filter if they are few (fewer than `comparedRows`, 500). */
async function fewBy<Column extends string>(
  db: RawDatabase,
  tenantId: string,
  narrow: Equals<Column>[],
): Promise<number[] | undefined> {
  if (narrow.length === 0) return undefined
  const ids = await idsBy(db, tenantId, { narrow, most: storeLimits.comparedRows })
  return ids.length < storeLimits.comparedRows ? ids : undefined
}

async function idsBy<Column extends string>(
  db: RawDatabase,
  tenantId: string,
  { narrow, most }: { narrow: Equals<Column>[]; most?: number },
): Promise<number[]> {
  const rows = await db
    .selectFrom('parent_agents')
    .select(['id', 'tenant_id'])
    .where('tenant_id', '=', tenantId)
    .$if(narrow.length > 0, (all) =>
      all.where((where) => where.or(narrow.map(({ column, value }) => where(columnOf(column), '=', value)))),
    )
    .orderBy('id')
    .$if(most !== undefined, (all) => all.limit(most ?? 0))
    .execute()
  return idsOf(rows, tenantId)
}
