import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { type RunningServer, startPostgresNode } from './postgres-node.ts'
import { memoryFolder } from './postgres-program.ts'

export type { RunningServer } from './postgres-node.ts'

export interface FreshDatabase {
  /** `postgresql://…`, understood by `pg` and by the service's DATABASE_URL. */
  url: string
  drop(): Promise<void>
}

const settings = {
  max_connections: '300',
  synchronous_commit: 'off',
  // Transactions that wait for each other are found after this and not after a second.
  deadlock_timeout: '100ms',
}

/** A real PostgreSQL, by default on disk. In `memory` if that has the room. */
export async function startPostgres({ data = 'disk' }: { data?: 'memory' | 'disk' } = {}): Promise<RunningServer> {
  return startPostgresNode({ settings, ...(data === 'memory' && { parent: memoryFolder() }) })
}

/** An empty database on that server, or a copy of the database `template`. */
export async function createDatabase(server: string, options: { template?: string } = {}): Promise<FreshDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`
  // A file copy is the quicker strategy where nothing waits for the disk.
  await administer(server, `create database ${name} template ${options.template ?? 'template0'} strategy file_copy`)
  const url = new URL(server)
  url.pathname = name
  return { url: url.href, drop: () => administer(server, `drop database if exists ${name} with (force)`) }
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
