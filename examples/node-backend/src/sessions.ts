import { memoryStorage, type TokenStorage } from 'agent-auth'
import { postgresStorage } from 'agent-auth/postgres'
import { redisStorage } from 'agent-auth/redis'
import { Redis } from 'ioredis'
import pg from 'pg'

export interface Sessions {
  /** Where the sessions are stored, as the page shows it. */
  readonly place: 'this process' | 'Redis' | 'PostgreSQL'
  readonly storage: TokenStorage
  close(): Promise<void>
}

/** The default life of the session cookie, in milliseconds. */
const ttlMs = 30 * 24 * 3_600_000
/** How long a database may send nothing, in milliseconds. */
const silenceMs = 5_000

/** Opens Redis if `REDIS_URL` is set, PostgreSQL if `DATABASE_URL` is, or memory. Rejects if the server does not respond. */
export async function openSessions(env: Readonly<Record<string, string | undefined>>): Promise<Sessions> {
  if (env.REDIS_URL) return inRedis(env.REDIS_URL)
  if (env.DATABASE_URL) return inPostgres(env.DATABASE_URL)
  return { place: 'this process', storage: memoryStorage(), close: async () => {} }
}

async function inRedis(url: string): Promise<Sessions> {
  // A machine that failed may leave its connections open.
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

/** Adds the setting to the message of an error. */
function naming(variable: string): (error: Error) => never {
  return (cause) => {
    throw new Error(`${variable}: ${cause.message}`, { cause })
  }
}

function reported(name: string): (error: Error) => void {
  return ({ message }) => void process.stderr.write(`${name}: ${message}\n`)
}
