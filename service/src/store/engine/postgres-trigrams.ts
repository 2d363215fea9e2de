import { sql } from 'kysely'
import { storeLimits } from '../../limits.ts'
import type { RawDatabase } from '../database.ts'
import type { TrigramIndex } from './engine.ts'

/** Lists agents by trigrams in an inverted index, which every PostgreSQL has. The extension pg_trgm is not needed. */
export const postgresTrigrams: TrigramIndex = {
  async create(db) {
    await sql`create table agent_trigrams (rowid bigint primary key, trigrams bigint[] not null)`.execute(db)
    await sql`create index agent_trigrams_by_trigram on agent_trigrams using gin (trigrams)`.execute(db)
  },
  async add(tx, agents) {
    let part: typeof agents = []
    let count = 0
    for (const agent of agents) {
      part.push(agent)
      count += agent.trigrams.length
      if (count < storeLimits.addedTrigrams) continue
      await insert(tx, part)
      part = []
      count = 0
    }
    if (part.length > 0) await insert(tx, part)
  },
  hasAll: (trigrams) => sql`trigrams @> ${arrayOf(trigrams)}::bigint[]`,
  async clear(tx) {
    await tx.deleteFrom('agent_trigrams').execute()
  },
}

/**
 * Adds agents by one statement, which ends before `statementMs`, 10 s: `add` gives it no further agent once it has `addedTrigrams`,
 * 100,000.
 */
async function insert(tx: RawDatabase, agents: { id: number; trigrams: number[] }[]): Promise<void> {
  await tx
    .insertInto('agent_trigrams')
    .values(agents.map(({ id, trigrams }) => ({ rowid: id, trigrams: arrayOf(trigrams) })))
    // A process of an older version may still run after the migration. Its reset deletes agents without their rows here, and a seed can
    // give their ids again.
    .onConflict((same) => same.column('rowid').doUpdateSet({ trigrams: sql`excluded.trigrams` }))
    .execute()
}

function arrayOf(trigrams: number[]): string {
  return `{${trigrams.join(',')}}`
}
