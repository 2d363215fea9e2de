import { type AuthConfig, createSession, encryptedStorage, type Session } from 'agent-auth'
import { postgresStorage } from 'agent-auth/postgres'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, query_timeout: 5_000 })
pool.on('error', (error) => process.stderr.write(`postgres: ${error.message}\n`))

const records = postgresStorage(pool)
await records.ready() // creates the table if it is missing; rejects with storage_failed while it cannot be used

const storage = encryptedStorage(records, { keys: [{ id: '2026-11', key: process.env.SESSION_KEY ?? '' }] })

export function sessionOf(config: AuthConfig, personId: string): Session {
  return createSession(config, { storage, key: personId })
}
