import { Redis } from 'ioredis'
import pg from 'pg'
import { backendRig } from '../../test/support/backend-rig.ts'
import { line } from '../backend/rounds.ts'
import { type MeteredStore, meteredStore, type StoreKind } from './metered.ts'

export interface Memory {
  readonly store: StoreKind
  readonly sessions: number
  /** The key and the value of one record. */
  readonly keyBytes: number
  readonly valueBytes: number
  /** Memory of Redis, or the size of PostgreSQL's table with its indexes, in bytes. */
  readonly bytes: number
  /** `fitted`: from the line through the measured ones. */
  readonly source: 'measured' | 'fitted'
}

const sizes = [10_000, 100_000, 1_000_000]
const fittedSize = 10_000_000
const batch = 5_000
/** How many times the bytes of its record a session takes in Redis at most. */
export const mostTimes = 3

/** A record as a backend wrote it, of which a part of the key and of the value is random. */
interface Sample {
  readonly key: string
  readonly value: string
}

/** What sessions take in the memory of Redis and on the disk of PostgreSQL. */
export async function memory(): Promise<Memory[]> {
  const found: Memory[] = []
  for (const kind of ['Redis', 'PostgreSQL'] as const) {
    const store = await meteredStore(kind)
    try {
      const sample = await sampleOf(store)
      const fill = kind === 'Redis' ? fillRedis : fillPostgres
      const measured = (await fill(store.url, sample)).map(({ sessions, bytes }) => ({
        store: kind,
        sessions,
        keyBytes: Buffer.byteLength(sample.key),
        valueBytes: Buffer.byteLength(sample.value),
        bytes,
        source: 'measured' as const,
      }))
      const fitted = {
        ...(measured[0] as Memory),
        sessions: fittedSize,
        bytes: onLine(measured, fittedSize),
        source: 'fitted' as const,
      }
      for (const one of [...measured, fitted])
        line(`${kind}, ${one.sessions.toLocaleString('en')} sessions:`.padEnd(40), told(one))
      found.push(...measured, fitted)
    } finally {
      await store.close()
    }
  }
  return found
}

/** The only record after a sign-in through a backend. */
async function sampleOf(store: MeteredStore): Promise<Sample> {
  const rig = await backendRig({ backend: { sessions: store.storage } })
  await rig.browser().logIn()
  await rig.close()
  if (store.kind === 'Redis') {
    const client = new Redis(store.url)
    const [key = ''] = await client.keys('*')
    const value = (await client.get(key)) ?? ''
    client.disconnect()
    return { key, value }
  }
  const pool = new pg.Pool({ connectionString: store.url })
  const { rows } = await pool.query<Sample>("select key, value from agent_auth_records where key like 'r:%'")
  await pool.end()
  return rows[0] as Sample
}

interface Measured {
  readonly sessions: number
  readonly bytes: number
}

async function fillRedis(url: string, sample: Sample): Promise<Measured[]> {
  const client = new Redis(url)
  const used = async (): Promise<number> => Number(/^used_memory:(\d+)/m.exec(await client.info('memory'))?.[1])
  await client.flushall()
  const empty = await used()
  const found: Measured[] = []
  for (let at = 0; at < Math.max(...sizes); ) {
    const pipeline = client.pipeline()
    for (const end = at + batch; at < end; at++) {
      const { key, value } = numbered(sample, at)
      pipeline.set(key, value, 'PX', 30 * 24 * 3_600_000)
    }
    await pipeline.exec()
    if (sizes.includes(at)) found.push({ sessions: at, bytes: (await used()) - empty })
  }
  client.disconnect()
  return found
}

async function fillPostgres(url: string, sample: Sample): Promise<Measured[]> {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  await pool.query('truncate agent_auth_records')
  const found: Measured[] = []
  for (let at = 0; at < Math.max(...sizes); ) {
    const records = Array.from({ length: batch }, (_, index) => numbered(sample, at + index))
    await pool.query(
      `insert into agent_auth_records (key, value, expires_at)
       select key, value, now() + interval '30 days' from unnest($1::text[], $2::text[]) as record (key, value)`,
      [records.map(({ key }) => key), records.map(({ value }) => value)],
    )
    at += batch
    if (!sizes.includes(at)) continue
    const { rows } = await pool.query<{ bytes: string }>("select pg_total_relation_size('agent_auth_records') as bytes")
    found.push({ sessions: at, bytes: Number(rows[0]?.bytes) })
  }
  await pool.end()
  return found
}

/** Another record of the same length. Its digits are spread as random ones are, because keys of an index that rises are denser. */
function numbered({ key, value }: Sample, at: number): Sample {
  const digits = String((at * 7_654_321) % 10_000_019).padStart(8, '0')
  const place = key.endsWith('}') ? key.length - 9 : key.length - 8
  return { key: key.slice(0, place) + digits + key.slice(place + 8), value }
}

/** The value at `sessions` of the line through the points with the least squares. */
export function onLine(points: readonly Measured[], sessions: number): number {
  const mean = (of: (point: Measured) => number): number =>
    points.reduce((sum, one) => sum + of(one), 0) / points.length
  const [x, y] = [mean((one) => one.sessions), mean((one) => one.bytes)]
  const slope = mean((one) => (one.sessions - x) * (one.bytes - y)) / mean((one) => (one.sessions - x) ** 2)
  return Math.round(y + slope * (sessions - x))
}

/** How many times the bytes of its value a session takes. */
export function timesOf({ bytes, sessions, valueBytes }: Memory): number {
  return bytes / sessions / valueBytes
}

function told(one: Memory): string {
  const { bytes, sessions, keyBytes, valueBytes, source } = one
  const target =
    one.store === 'Redis' ? `, target at most ${mostTimes} x: ${timesOf(one) <= mostTimes ? 'pass' : 'MISSED'}` : ''
  return `${(bytes / 2 ** 20).toFixed(0)} MiB (${source}), ${Math.round(bytes / sessions)} bytes a session, ${timesOf(one).toFixed(2)} x of ${valueBytes} (key ${keyBytes})${target}`
}
