import type { Context } from 'hono'
import { Hono } from 'hono'
import * as z from 'zod'
import { hasMediaType, readText } from '../http/body.ts'
import type { HttpEnvironment } from '../http/environment.ts'
import { parseJson } from '../http/json.ts'
import type { DevControls } from '../service.ts'
import { serveDevPage } from './dev-page.ts'
import { readFaultRule } from './fault-rule.ts'
import { loopbackOnly } from './loopback-only.ts'
import type { Roster } from './roster.ts'

interface DevAppOptions {
  authUrl: string
  baseUrl: string
  dev: DevControls
  roster(): Roster
}

const mostBytes = 16 * 1_024
const clockBody = z
  .strictObject({ state: z.enum(['running', 'frozen']).optional(), advanceMs: z.int().min(0).optional() })
  .refine(({ state, advanceMs }) => state !== undefined || advanceMs !== undefined)
const clockHelp = 'send {"advanceMs": n} or {"state": "frozen"}, "running", or both, as JSON'
const autoApproveBody = z.object({ email: z.string().nullable() })
const sessionTokenBody = z.object({ email: z.string() })

/** /_dev/*: steers the service from a test in another process. */
export function createDevApp(options: DevAppOptions): Hono<HttpEnvironment> {
  const app = new Hono<HttpEnvironment>()
  app.use(loopbackOnly(options.authUrl))
  serveDevPage(app, options)
  serveState(app, options)
  servePeople(app, options)
  serveFaults(app, options)
  return app
}

function serveState(app: Hono<HttpEnvironment>, { dev, roster }: DevAppOptions): void {
  const time = () => ({ nowMs: dev.nowMs(), clock: dev.clockState() })
  app.get('/state', (c) => {
    const steered = { autoApprove: dev.autoApproved() ?? null, faults: dev.faults() }
    return c.json({ ...time(), ...steered, ...roster() })
  })
  app.get('/journal', (c) => c.json({ entries: dev.journal() }))
  app.post('/reset', async (c) => {
    await dev.reset()
    return c.json({ nowMs: dev.nowMs(), ...roster() })
  })
  app.post('/clock', async (c) => {
    const body = await readJson(c, clockBody)
    if (body === undefined || !setClock(dev, body)) return c.json({ error: clockHelp }, 422)
    return c.json(time())
  })
  app.post('/expire', async (c) => {
    await dev.expireAccessTokens()
    return c.json({ nowMs: dev.nowMs() })
  })
  app.post('/revoke', async (c) => {
    await dev.revokeRefreshTokens()
    return c.json({ nowMs: dev.nowMs() })
  })
}

/** False when the clock cannot go that far. */
function setClock(dev: DevControls, { state, advanceMs }: z.infer<typeof clockBody>): boolean {
  try {
    dev.advance(advanceMs ?? 0)
  } catch {
    return false
  }
  if (state === 'frozen') dev.freeze()
  if (state === 'running') dev.unfreeze()
  return true
}

function servePeople(app: Hono<HttpEnvironment>, { dev, roster }: DevAppOptions): void {
  app.post('/session-token', async (c) => {
    const body = await readJson(c, sessionTokenBody)
    const person = roster().people.find(({ email }) => email === body?.email.toLowerCase())
    if (person === undefined) return c.json({ error: 'send {"email": "…"} of a person of this service' }, 422)
    return c.json({ token: await dev.mintSessionToken(person.email) })
  })
  app.post('/auto-approve', async (c) => {
    const body = await readJson(c, autoApproveBody)
    const isKnown = body?.email === null || roster().people.some(({ email }) => email === body?.email?.toLowerCase())
    if (body === undefined || !isKnown) return c.json({ error: 'send {"email": "…"} of a person, or null' }, 422)
    dev.autoApprove(body.email ?? undefined)
    return c.json({ nowMs: dev.nowMs() })
  })
}

function serveFaults(app: Hono<HttpEnvironment>, { dev }: DevAppOptions): void {
  app.post('/faults', async (c) => {
    const rule = readFaultRule(await readJson(c, z.unknown()))
    if (rule === undefined) return c.json({ error: 'send {"match": {…}, "effect": …, "times": n} as JSON' }, 422)
    dev.addFault(rule)
    return c.json({ nowMs: dev.nowMs() })
  })
  app.delete('/faults', (c) => {
    dev.clearFaults()
    return c.json({ nowMs: dev.nowMs() })
  })
}

async function readJson<Value>(c: Context<HttpEnvironment>, schema: z.ZodType<Value>): Promise<Value | undefined> {
  if (!hasMediaType(c.req.raw.headers, 'application/json')) return undefined
  const body = await readText(c.req.raw, mostBytes)
  const json = body.kind === 'text' ? parseJson(body.text, { mostDepth: 4, repeatedMembers: 'refuse' }) : undefined
  return json?.kind === 'value' ? schema.safeParse(json.value).data : undefined
}
