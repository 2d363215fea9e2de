import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createBackend } from 'agent-auth/backend'
import { toNodeHandler } from 'agent-auth/backend/node'
import { redisStorage } from 'agent-auth/redis'
import { Redis } from 'ioredis'

const { env } = process
const redis = new Redis(env.REDIS_URL ?? 'redis://127.0.0.1:6379')
redis.on('error', ({ message }) => process.stderr.write(`redis: ${message}\n`))

const backend = createBackend({
  authUrl: env.AGENT_AUTH_URL ?? '',
  baseUrl: env.AGENT_BASE_URL ?? '',
  clientId: env.AGENT_CLIENT_ID ?? '',
  clientSecret: env.AGENT_CLIENT_SECRET,
  redirectUri: `${env.APP_ORIGIN ?? 'http://127.0.0.1:3000'}/auth/callback`,
  sessions: redisStorage(redis, { ttlMs: 30 * 24 * 3_600_000 }),
  secrets: (env.COOKIE_SECRET ?? '').split(','),
  proxy: ['POST /api/parent_agents/search'],
  // What failed and why, without secrets.
  onEvent: (event) => process.stderr.write(`${JSON.stringify(event)}\n`),
})

const handle = toNodeHandler(backend)
createServer((request, response) => handle(request, response, () => answer(request, response))).listen(3000)

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const html = await page(request)
    response
      .writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store', vary: 'Cookie' })
      .end(html)
  } catch {
    response.writeHead(503).end('The sessions cannot be read at the moment. Load the page again.')
  }
}

async function page(request: IncomingMessage): Promise<string> {
  const session = await backend.getSession(request)
  return session.signedIn ? 'Welcome' : '<a href="/auth/login?return_to=/">Sign in</a>'
}
