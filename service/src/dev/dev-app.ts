import type { Context, MiddlewareHandler } from 'hono'
import { Hono } from 'hono'
import { z } from 'zod'
import { hasMediaType, readText } from '../http/body.ts'
import type { HttpEnvironment } from '../http/environment.ts'
import { addressOf } from '../http/environment.ts'
import { ownOrigins } from '../http/host-guard.ts'
import { parseJson } from '../http/json.ts'
import type { DevControls } from '../service.ts'
import type { Roster } from './roster.ts'

interface DevAppOptions {
  authUrl: string
  dev: DevControls
  roster(): Roster
}

const mostBytes = 16 * 1_024
const clockBody = z.object({ advanceMs: z.int().min(0) })
const sessionTokenBody = z.object({ email: z.string() })

/** /_dev/*: steers the service from a test in another process. */
export function createDevApp({ authUrl, dev, roster }: DevAppOptions): Hono<HttpEnvironment> {
  const app = new Hono<HttpEnvironment>()
  app.use(loopbackOnly(authUrl))
  app.get('/state', (c) => c.json({ nowMs: dev.nowMs(), ...roster() }))
  app.get('/journal', (c) => c.json({ entries: dev.journal() }))
  app.post('/reset', async (c) => {
    await dev.reset()
    return c.json({ nowMs: dev.nowMs(), ...roster() })
  })
  app.post('/clock', async (c) => {
    const body = await readJson(c, clockBody)
    if (body === undefined) return c.json({ error: 'send {"advanceMs": n} as JSON' }, 422)
    dev.advance(body.advanceMs)
    return c.json({ nowMs: dev.nowMs() })
  })
  app.post('/expire', async (c) => {
    await dev.expireAccessTokens()
    return c.json({ nowMs: dev.nowMs() })
  })
  app.post('/revoke', async (c) => {
    await dev.revokeRefreshTokens()
    return c.json({ nowMs: dev.nowMs() })
  })
  app.post('/session-token', async (c) => {
    const body = await readJson(c, sessionTokenBody)
    const person = roster().people.find(({ email }) => email === body?.email.toLowerCase())
    if (person === undefined) return c.json({ error: 'send {"email": "…"} of a person of this service' }, 422)
    return c.json({ token: await dev.mintSessionToken(person.email) })
  })
  return app
}

/** Not for other machines, and not for pages in the browser of this one. */
function loopbackOnly(authUrl: string): MiddlewareHandler<HttpEnvironment> {
  const origins = ownOrigins(authUrl)
  return async (c, next) => {
    const address = addressOf(c.env)
    const isLoopback = /^(::ffff:)?127\.|^::1$|^in-process$/.test(address)
    const origin = c.req.header('origin')
    if (!isLoopback || (origin !== undefined && !origins.has(origin))) return c.json({ error: 'loopback only' }, 403)
    c.header('Cache-Control', 'no-store')
    return next()
  }
}

async function readJson<Value>(c: Context<HttpEnvironment>, schema: z.ZodType<Value>): Promise<Value | undefined> {
  if (!hasMediaType(c.req.raw.headers, 'application/json')) return undefined
  const body = await readText(c.req.raw, mostBytes)
  const json = body.kind === 'text' ? parseJson(body.text, { mostDepth: 4, repeatedMembers: 'refuse' }) : undefined
  return json?.kind === 'value' ? schema.safeParse(json.value).data : undefined
}
