// The backend in Next.js: app/auth and app/api serve its routes, app/page.tsx reads the session.
import { type Backend, createBackend } from 'agent-auth/backend'
import { redisStorage } from 'agent-auth/redis'
import { Redis } from 'ioredis'

const shared = globalThis as { backend?: Backend }

/** Returns the one backend of all bundles, each of which has a copy of this file. It is created at the first request, because `next build` has no settings. */
export function theBackend(): Backend {
  shared.backend ??= open(process.env)
  return shared.backend
}

/** The sessions are in Redis, because Next.js may run in several processes. */
function open({ PORT = '3000', ...env }: Readonly<Record<string, string | undefined>>): Backend {
  const client = new Redis(env.REDIS_URL ?? 'redis://127.0.0.1:6379', { connectionName: 'next-app' })
  client.on('error', ({ message }) => process.stderr.write(`redis: ${message}\n`))
  return createBackend({
    authUrl: env.AGENT_AUTH_URL ?? '',
    baseUrl: env.AGENT_BASE_URL ?? '',
    clientId: env.AGENT_CLIENT_ID ?? '',
    clientSecret: env.AGENT_CLIENT_SECRET,
    redirectUri: `${env.APP_ORIGIN ?? `http://127.0.0.1:${PORT}`}/auth/callback`,
    sessions: redisStorage(client, { ttlMs: 30 * 24 * 3_600_000 }),
    secrets: (env.COOKIE_SECRET ?? '').split(','),
    proxy: ['POST /api/parent_agents/search', 'POST /api/parent_agents'],
  })
}
