// The backend in Next.js: app/auth and app/api serve its routes, app/page.tsx reads the session.
import type { Backend } from 'agent-auth/backend'
import { redisStorage } from 'agent-auth/redis'
import { Redis } from 'ioredis'
import { exampleBackend } from '../../src/backend.ts'
import { readSettings } from '../../src/settings.ts'

const shared = globalThis as { backend?: Backend }

/** Returns the one backend of all bundles, each of which has a copy of this file. It is created at the first request, because `next build` has no settings. */
export function theBackend(): Backend {
  shared.backend ??= open()
  return shared.backend
}

/** The sessions are in Redis, because Next.js may run in several processes. */
function open(): Backend {
  const client = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379', { connectionName: 'next-app' })
  client.on('error', ({ message }) => process.stderr.write(`redis: ${message}\n`))
  return exampleBackend(readSettings(process.env), redisStorage(client, { ttlMs: 30 * 24 * 3_600_000 }))
}
