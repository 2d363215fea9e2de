import { Redis } from 'ioredis'
import pg from 'pg'
import type { AtEnd } from '../../support/children.ts'
import { startRedis } from '../../support/redis-server.ts'

/** A storage that can be made to fail. */
export interface StoreUnderFaults {
  readonly kind: 'redis' | 'postgres'
  readonly url: string
  /** Refuses writes, or takes them again. */
  readOnly(is: 'on' | 'off'): Promise<void>
  /** Has no room for more, or has it again. */
  full(is: 'on' | 'off'): Promise<void>
  /** Ends at once, and starts again after this time with all that it had confirmed. */
  crash(awayMs: (ms: number) => Promise<void>): Promise<void>
}

/** A Redis of its own, which keeps what it has confirmed. */
export async function redisUnderFaults(atEnd: AtEnd): Promise<StoreUnderFaults> {
  const server = await startRedis({ persistence: 'every-write' })
  atEnd(() => server.stop())
  const admin = new Redis(server.url, { retryStrategy: () => 20 })
  admin.on('error', () => {})
  atEnd(() => admin.disconnect())
  const set = async (name: string, value: string): Promise<void> => void (await admin.config('SET', name, value))
  return {
    kind: 'redis',
    url: server.url,
    readOnly: (is) => set('min-replicas-to-write', is === 'on' ? '1' : '0'),
    full: (is) => set('maxmemory', is === 'on' ? '1' : '0'),
    async crash(away) {
      await server.crash()
      await away(500)
      await server.restart()
    },
  }
}

/** Each save fails as on a full disk, and removals go on. A file system of its own would need the rights of the system. */
const diskFull = `
  create or replace function disk_full() returns trigger language plpgsql as
    $$ begin raise exception 'no space left on device' using errcode = 'disk_full'; end $$;
  create trigger disk_full before insert or update on agent_auth_records execute function disk_full();`

/** A database of a PostgreSQL, whose other databases are left alone. */
export async function postgresUnderFaults(atEnd: AtEnd, url: string): Promise<StoreUnderFaults> {
  const admin = new pg.Client({ connectionString: url })
  admin.on('error', () => {})
  await admin.connect()
  atEnd(() => admin.end())
  const name = new URL(url).pathname.slice(1)
  const disconnectOthers = async (): Promise<void> => {
    await admin.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
      [name],
    )
  }
  return {
    kind: 'postgres',
    url,
    async readOnly(is) {
      // It is a default of new connections.
      await admin.query('set default_transaction_read_only = off')
      await admin.query(`alter database ${name} set default_transaction_read_only = ${is}`)
      await disconnectOthers()
    },
    async full(is) {
      await admin.query('set default_transaction_read_only = off')
      await admin.query(is === 'on' ? diskFull : 'drop trigger disk_full on agent_auth_records')
    },
    async crash(away) {
      await admin.query(`alter database ${name} connection limit 0`)
      await disconnectOthers()
      await away(500)
      await admin.query(`alter database ${name} connection limit -1`)
    },
  }
}
