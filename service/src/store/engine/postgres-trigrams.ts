import { sql } from 'kysely'
import type { TrigramIndex } from './engine.ts'

/** Lists agents by trigrams in an inverted index, which every PostgreSQL has. The extension pg_trgm is not needed. */
export const postgresTrigrams: TrigramIndex = {
  async create(db) {
    await sql`create table agent_trigrams (rowid bigint primary key, trigrams bigint[] not null)`.execute(db)
    await sql`create index agent_trigrams_by_trigram on agent_trigrams using gin (trigrams)`.execute(db)
  },
  async add(tx, agents) {
    const rows = agents.map(({ id, trigrams }) => ({ rowid: id, trigrams: arrayOf(trigrams) }))
    await tx
      .insertInto('agent_trigrams')
      .values(rows)
      // An older version deletes agents without their trigrams, and a seed may give their ids again.
      .onConflict((same) => same.column('rowid').doUpdateSet({ trigrams: sql`excluded.trigrams` }))
      .execute()
  },
  hasAll: (trigrams) => sql`trigrams @> ${arrayOf(trigrams)}::bigint[]`,
  async clear(tx) {
    await tx.deleteFrom('agent_trigrams').execute()
  },
}

function arrayOf(trigrams: number[]): string {
  return `{${trigrams.join(',')}}`
}
