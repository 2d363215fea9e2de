import { memoryStorage, type TokenStorage } from 'agent-auth'
import { postgresStorage } from 'agent-auth/postgres'
import { redisStorage } from 'agent-auth/redis'
import { Redis } from 'ioredis'
import pg from 'pg'

export interface Sessions {
  /** For people: where the sessions live. */
  readonly place: 'this process' | 'Redis' | 'PostgreSQL'
  readonly storage: TokenStorage
  close(): Promise<void>
}

/** As long as the session cookie lasts. */
const ttlMs = 30 * 24 * 3_600_000
const silenceMs = 5_000

/** In Redis when `REDIS_URL` is set, in PostgreSQL when `DATABASE_URL` is, else in this process; rejects when it is not there. */
export async function openSessions(env: Readonly<Record<string, string | undefined>>): Promise<Sessions> {
  if (env.REDIS_URL) return inRedis(env.REDIS_URL)
  if (env.DATABASE_URL) return inPostgres(env.DATABASE_URL)
  return { place: 'this process', storage: memoryStorage(), close: async () => {} }
}

async function inRedis(url: string): Promise<Sessions> {
  // A machine that is gone may leave its connections open.
  const client = new Redis(url, { socketTimeout: silenceMs })
  client.on('error', reported('redis'))
  const storage = redisStorage(client, { ttlMs })
  await storage.ready().catch(naming('REDIS_URL'))
  return { place: 'Redis', storage, close: async () => client.disconnect() }
}

async function inPostgres(connectionString: string): Promise<Sessions> {
  const pool = new pg.Pool({ connectionString, query_timeout: silenceMs })
  pool.on('error', reported('postgres'))
  const storage = postgresStorage(pool, { ttlMs })
  await storage.ready().catch(naming('DATABASE_URL'))
  return { place: 'PostgreSQL', storage, close: () => pool.end() }
}

/** Says which setting the failure is about. */
function naming(variable: string): (error: Error) => never {
  return (cause) => {
    throw new Error(`${variable}: ${cause.message}`, { cause })
  }
}

function reported(name: string): (error: Error) => void {
  return ({ message }) => void process.stderr.write(`${name}: ${message}\n`)
}
