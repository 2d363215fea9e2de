import { sql } from 'kysely'
import type { TrigramIndex } from './engine.ts'

/**
 * Lists agents by trigrams in a full-text table. The table keeps which numbers a row has. It keeps neither their order nor the text of
 * the row. It appends what is new and merges it later, so that an agent with thousands of trigrams is added in milliseconds
 * (https://sqlite.org/fts5.html, "Contentless Tables", "The Detail Option").
 */
export const libsqlTrigrams: TrigramIndex = {
  async create(db) {
    const options = sql`content='', columnsize=0, detail=none, tokenize='ascii'`
    await sql`create virtual table agent_trigrams using fts5(trigrams, ${options})`.execute(db)
  },
  async add(tx, agents) {
    // FTS5 collects new rows in memory. If an id is smaller than the one before it, FTS5 writes them to the table early, which is slow.
    const rising = agents.toSorted((left, right) => left.id - right.id)
    const rows = rising.map(({ id, trigrams }) => ({ rowid: id, trigrams: trigrams.join(' ') }))
    await tx.insertInto('agent_trigrams').values(rows).execute()
  },
  hasAll: (trigrams) => sql`agent_trigrams match ${trigrams.join(' ')}`,
  async clear(tx) {
    await sql`insert into agent_trigrams (agent_trigrams) values ('delete-all')`.execute(tx)
  },
}
