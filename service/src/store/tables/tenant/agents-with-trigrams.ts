import type { SelectQueryBuilder } from 'kysely'
import { sql } from 'kysely'
import { storeLimits } from '../../../limits.ts'
import type { RawDatabase } from '../../database.ts'
import { queryTraitsOf } from '../../engine/engine.ts'
import type { Tables } from '../../schema.ts'
import type { Steps } from './search-order.ts'
import { idsOf } from './search-order.ts'

/**
 * Returns ids of agents in rising order, among them each agent whose search text contains the search value. Some have all of the rarest
 * trigrams (`rarest`), by the index. The others are not in the index yet. The caller compares the texts of all, because some do not
 * contain the value.
 */
export async function agentsWithTrigrams<Column extends string>(
  db: RawDatabase,
  { tenantId, pause }: Steps<Column>,
  trigrams: number[],
): Promise<number[]> {
  const lastId = await lastIdOf(db, tenantId)
  await pause()
  const unknown = withoutTrigrams(db, tenantId).where('id', '<=', lastId).select(['id', 'tenant_id'])
  const ids = new Set(idsOf(await unknown.execute(), tenantId))
  await pause()
  const rare = await rarest(db, trigrams)
  let part: number[]
  let after = 0
  do {
    await pause()
    part = await idsByIndex(db, rare, { after, lastId })
    for (const id of part) ids.add(id)
    after = part.at(-1) ?? 0
  } while (part.length === storeLimits.comparedRows)
  return [...ids].sort((left, right) => left - right)
}

/** Selects the agents of a tenant that the index does not have yet. An earlier version of the service added them. */
export function withoutTrigrams(
  db: RawDatabase,
  tenantId: string,
): SelectQueryBuilder<Tables, 'parent_agents', object> {
  return db.selectFrom('parent_agents').where('tenant_id', '=', tenantId).where('has_trigrams', '=', sql.lit(0))
}

/** Returns the largest id of the tenant's agents. Those that are added during the search have larger ones, and are left out. */
async function lastIdOf(db: RawDatabase, tenantId: string): Promise<number> {
  const last = await db
    .selectFrom('parent_agents')
    .select(['id', 'tenant_id'])
    .where('tenant_id', '=', tenantId)
    .orderBy('id', 'desc')
    .limit(1)
    .execute()
  return idsOf(last, tenantId)[0] ?? 0
}

/**
 * Returns the trigrams that the fewest agents have (`rareTrigrams`, 4), because the lists of the common ones take long to read and
 * leave hardly fewer agents. It reads at most the first `probedIds`, 64, agents of each trigram. Of two trigrams, the rarer
 * is the one with fewer of these. If both have equally many, it is the one whose agents are spread over more ids.
 */
async function rarest(db: RawDatabase, trigrams: number[]): Promise<number[]> {
  if (trigrams.length <= storeLimits.rareTrigrams) return trigrams
  const probes = trigrams.map((trigram, index) => {
    const first = indexed(db, [trigram]).select('rowid').limit(storeLimits.probedIds).as('first')
    return db
      .selectFrom(first)
      .select((select) => [
        sql.lit(index).as('index'),
        select.fn.countAll<number>().as('count'),
        sql<number | null>`max(rowid) - min(rowid)`.as('span'),
      ])
  })
  const [one, ...others] = probes
  if (one === undefined) return []
  const figures = await others.reduce((all, probe) => all.unionAll(probe), one).execute()
  return figures
    .sort((left, right) => left.count - right.count || (right.span ?? 0) - (left.span ?? 0))
    .slice(0, storeLimits.rareTrigrams)
    .flatMap(({ index }) => trigrams[index] ?? [])
}

async function idsByIndex(
  db: RawDatabase,
  trigrams: number[],
  { after, lastId }: { after: number; lastId: number },
): Promise<number[]> {
  const rows = await indexed(db, trigrams)
    .select('rowid')
    .where('rowid', '>', after)
    .where('rowid', '<=', lastId)
    .orderBy('rowid')
    .limit(storeLimits.comparedRows)
    .execute()
  return rows.map(({ rowid }) => rowid)
}

/** The rows of the index that have all of these. */
export function indexed(db: RawDatabase, trigrams: number[]): SelectQueryBuilder<Tables, 'agent_trigrams', object> {
  return db.selectFrom('agent_trigrams').where(queryTraitsOf(db).trigrams.hasAll(trigrams))
}
