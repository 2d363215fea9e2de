import { postgresStorage, type SharedStorage } from 'agent-auth/postgres'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, query_timeout: 5_000 })
pool.on('error', (error) => process.stderr.write(`postgres: ${error.message}\n`))

export const records: SharedStorage = postgresStorage(pool)
await records.ready() // creates the table if it is missing; rejects with storage_failed while it cannot be used
