import { encryptedStorage, type TokenStorage } from 'agent-auth'
import { redisStorage } from 'agent-auth/redis' // or postgresStorage(new pg.Pool(…)) of 'agent-auth/postgres'
import { Redis } from 'ioredis'

const client = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379', { socketTimeout: 5_000 })
client.on('error', (error) => process.stderr.write(`redis: ${error.message}\n`))
const keys = [{ id: '2026-11', key: process.env.SESSION_KEY ?? '' }] // openssl rand -base64 32
export const sessions: TokenStorage = encryptedStorage(redisStorage(client), { keys })
