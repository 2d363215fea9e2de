import { type AuthConfig, createSession, encryptedStorage, type Session } from 'agent-auth'
import { redisStorage } from 'agent-auth/redis'
import { Redis } from 'ioredis'

const client = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379', { socketTimeout: 5_000 })
client.on('error', (error) => process.stderr.write(`redis: ${error.message}\n`))

const records = redisStorage(client, { ttlMs: 30 * 24 * 3_600_000 })
await records.ready() // rejects with storage_failed while Redis cannot be used

const storage = encryptedStorage(records, { keys: [{ id: '2026-11', key: process.env.SESSION_KEY ?? '' }] })

export function sessionOf(config: AuthConfig, personId: string): Session {
  return createSession(config, { storage, key: personId })
}
