import type { Context } from 'hono'
import { Hono } from 'hono'
import { hasMediaType, readText } from '../http/body.ts'
import type { HttpEnvironment } from '../http/environment.ts'
import { parseJson } from '../http/json.ts'
import type { DevControls } from '../service.ts'
import { serveDevPage } from './dev-page.ts'
import { readFaultRule } from './fault-rule.ts'
import { loopbackOnly } from './loopback-only.ts'
import type { Roster } from './roster.ts'
import { isRecord, isText, object, oneOf, optional, wholeNumber } from './shape.ts'

interface DevAppOptions {
  authUrl: string
  baseUrl: string
  dev: DevControls
  roster(): Roster
}

interface ClockChange {
  state?: 'running' | 'frozen'
  advanceMs?: number
}

const mostBytes = 16 * 1_024
const clockHelp = 'send {"advanceMs": n} or {"state": "frozen"}, "running", or both, as JSON'

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
    const body = await readJson(c)
    if (!isClockChange(body) || !setClock(dev, body as ClockChange)) return c.json({ error: clockHelp }, 422)
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

/** Any other member is a mistake, and so is to change nothing. */
function isClockChange(body: unknown): boolean {
  const isShaped = object({ state: optional(oneOf('running', 'frozen')), advanceMs: optional(wholeNumber(0)) })(body)
  return isShaped && isRecord(body) && (body.state !== undefined || body.advanceMs !== undefined)
}

/** False when the clock cannot go that far. */
function setClock(dev: DevControls, { state, advanceMs }: ClockChange): boolean {
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
  const personNamed = (email: unknown) =>
    isText(email) ? roster().people.find((person) => person.email === email.toLowerCase()) : undefined
  app.post('/session-token', async (c) => {
    const person = personNamed(emailIn(await readJson(c)))
    if (person === undefined) return c.json({ error: 'send {"email": "…"} of a person of this service' }, 422)
    return c.json({ token: await dev.mintSessionToken(person.email) })
  })
  app.post('/auto-approve', async (c) => {
    const email = emailIn(await readJson(c))
    const person = personNamed(email)
    if (person === undefined && email !== null)
      return c.json({ error: 'send {"email": "…"} of a person, or null' }, 422)
    dev.autoApprove(person?.email)
    return c.json({ nowMs: dev.nowMs() })
  })
}

function serveFaults(app: Hono<HttpEnvironment>, { dev }: DevAppOptions): void {
  app.post('/faults', async (c) => {
    const rule = readFaultRule(await readJson(c))
    if (rule === undefined) return c.json({ error: 'send {"match": {…}, "effect": …, "times": n} as JSON' }, 422)
    dev.addFault(rule)
    return c.json({ nowMs: dev.nowMs() })
  })
  app.delete('/faults', (c) => {
    dev.clearFaults()
    return c.json({ nowMs: dev.nowMs() })
  })
}

async function readJson(c: Context<HttpEnvironment>): Promise<unknown> {
  if (!hasMediaType(c.req.raw.headers, 'application/json')) return undefined
  const body = await readText(c.req.raw, mostBytes)
  const json = body.kind === 'text' ? parseJson(body.text, { mostDepth: 4, repeatedMembers: 'refuse' }) : undefined
  return json?.kind === 'value' ? json.value : undefined
}

function emailIn(body: unknown): unknown {
  return isRecord(body) ? body.email : undefined
}
