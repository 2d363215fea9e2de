import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { HTTPException } from 'hono/http-exception'
import * as z from 'zod/mini'
import type { AccessChange } from '../access-change.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { hasMediaType, isFromThisMachine, jsonMembers, readAtMost } from '../http/messages.ts'
import { ownOrigins } from '../http/middleware.ts'
import { strict } from '../issue-text.ts'
import { toolLimits } from '../limits.ts'
import type { DevControls } from '../service.ts'
import type { FaultRule } from '../state.ts'
import { type Roster, unknownAccountText } from './controls.ts'
import { serveDevPage } from './dev-page.ts'
import type { Logins } from './login-traces.ts'

/**
 * Refuses, with 403, requests to `/_dev` of other machines, requests that a proxy forwarded, and pages of other origins. The
 * controls do not start with an origin or a host beyond loopback, nor by the command with `NODE_ENV=production`.
 */
function loopbackOnly(authUrl: string): MiddlewareHandler<HttpEnvironment> {
  const origins = ownOrigins(authUrl)
  return async (c, next) => {
    // The responses hold passwords and secrets.
    c.header('Cache-Control', 'no-store')
    c.header('Cross-Origin-Resource-Policy', 'same-origin')
    const origin = c.req.header('origin')
    // The dev page sends no referrer, so its forms come from `null`. No other page can send same-origin.
    const isOwnPage = origin === 'null' && c.req.header('sec-fetch-site') === 'same-origin'
    const isForeign = origin !== undefined && !origins.has(origin) && !isOwnPage
    if (!isFromThisMachine(c) || isForeign) return c.json({ error: 'loopback only' }, 403)
    return next()
  }
}

interface DevAppOptions {
  authUrl: string
  baseUrl: string
  dev: DevControls
  roster(): Roster
  logins: Logins
}

const clockChange = strict({
  state: z.optional(z.enum(['running', 'frozen'])),
  advanceMs: z.optional(z.int().check(z.gte(0))),
})

const mediaType = 'application/json'
/** The dev page and its forms, which are for a browser. */
const pagePaths = ['/', '/do', '/logins/:id']
const bodyHelp = `send JSON in UTF-8 of at most ${toolLimits.devBodyBytes / 1_024} KiB, uncompressed, with content-type: ${mediaType}`
const clockHelp = 'send {"advanceMs": n} or {"state": "frozen"}, "running", or both'

/** Serves /_dev/*, with which a test controls a service in another process. */
export function createDevApp(options: DevAppOptions): Hono<HttpEnvironment> {
  const app = new Hono<HttpEnvironment>()
  app.use(loopbackOnly(options.authUrl))
  serveDevPage(app, options)
  serveState(app, options)
  servePeople(app, options)
  serveAccess(app, options)
  serveFaults(app, options)
  app.all('/*', (c) => refuseControl(c, app))
  return app
}

/** Responds at /_dev/* if the dev controls are off, so that a test without the option learns its name. */
export function refuseDevControls(c: Context<HttpEnvironment>): Response {
  const error = "the dev controls are off; start agent-service with --dev, or startService with dev: 'on'"
  return c.json({ error }, 404, { 'Cache-Control': 'no-store' })
}

/** Responds to a control that does not exist, or not with this method. */
function refuseControl(c: Context<HttpEnvironment>, app: Hono<HttpEnvironment>): Response {
  const controls = app.routes.filter(({ method, path }) => method !== 'ALL' && !pagePaths.includes(path))
  const name = c.req.path.replace('/_dev/', '')
  const allowed = controls.filter(({ path }) => path === `/${name}`).map(({ method }) => method)
  if (allowed.length > 0)
    return c.json({ error: `use ${allowed.join(' or ')} ${c.req.path}` }, 405, { Allow: allowed.join(', ') })
  const names = [...new Set(controls.map(({ path }) => path.slice(1)))]
  const shown = /^[\w-]{1,24}$/.test(name) ? `/_dev/${name}` : 'here'
  return c.json({ error: `there is no control ${shown}; use ${names.join(', ')}` }, 404)
}

function serveState(app: Hono<HttpEnvironment>, { dev, roster }: DevAppOptions): void {
  const time = () => ({ nowMs: dev.nowMs(), clock: dev.clockState() })
  app.get('/state', (c) => {
    const steered = { autoApprove: dev.autoApproved() ?? null, faults: dev.faults() }
    return c.json({ ...time(), ...steered, ...roster() })
  })
  app.get('/journal', (c) => c.json({ entries: dev.journal() }))
  app.post('/reset', async (c) => {
    const problem = await refusalOf(dev.reset)
    return problem === undefined ? c.json({ nowMs: dev.nowMs(), ...roster() }) : refuse(c, problem)
  })
  app.post('/clock', async (c) => {
    const { data: change } = clockChange.safeParse(await readJson(c))
    if (change === undefined || Object.keys(change).length === 0 || !setClock(dev, change)) return refuse(c, clockHelp)
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

/** Returns false if the clock cannot be moved so far. */
function setClock(dev: DevControls, { state, advanceMs }: z.infer<typeof clockChange>): boolean {
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
    typeof email === 'string' ? roster().people.find((person) => person.email === email.toLowerCase()) : undefined
  const unknownAccount = () => unknownAccountText(roster().people.map((person) => person.email))
  app.post('/session-token', async (c) => {
    const email = emailIn(await readJson(c))
    const person = personNamed(email)
    if (person === undefined)
      return refuse(c, typeof email === 'string' ? unknownAccount() : 'send {"email": "…"} of an account')
    return c.json({ token: await dev.mintSessionToken(person.email) })
  })
  for (const control of ['autoApprove', 'autoDeny'] as const)
    app.post(control === 'autoDeny' ? '/auto-deny' : '/auto-approve', async (c) => {
      const email = emailIn(await readJson(c))
      const person = personNamed(email)
      if (person === undefined && email !== null)
        return refuse(c, typeof email === 'string' ? unknownAccount() : 'send {"email": "…"} of an account, or null')
      dev[control](person?.email)
      return c.json({ nowMs: dev.nowMs() })
    })
}

function serveAccess(app: Hono<HttpEnvironment>, { dev, roster }: DevAppOptions): void {
  app.post('/access', async (c) => {
    const change = (await readJson(c)) as AccessChange
    const problem = await refusalOf(() => dev.setAccess(change))
    return problem === undefined ? c.json({ nowMs: dev.nowMs(), ...roster() }) : refuse(c, problem)
  })
}

function serveFaults(app: Hono<HttpEnvironment>, { dev }: DevAppOptions): void {
  app.post('/faults', async (c) => {
    const rule = (await readJson(c)) as FaultRule
    const problem = await refusalOf(() => dev.addFault(rule))
    return problem === undefined ? c.json({ nowMs: dev.nowMs() }) : refuse(c, problem)
  })
  app.delete('/faults', (c) => {
    dev.clearFaults()
    return c.json({ nowMs: dev.nowMs() })
  })
}

/** Returns the message of the TypeError by which a control refuses a value. */
async function refusalOf(change: () => void | Promise<void>): Promise<string | undefined> {
  try {
    await change()
    return undefined
  } catch (error) {
    if (error instanceof TypeError) return error.message
    throw error
  }
}

/** Reads a JSON object. Throws the response to a body that is not declared as JSON or cannot be read. */
async function readJson(c: Context<HttpEnvironment>): Promise<unknown> {
  const isJson = hasMediaType(c.req.raw.headers, mediaType)
  const body = isJson ? await readAtMost(c.req.raw, toolLimits.devBodyBytes) : undefined
  if (body?.kind !== 'text') throw new HTTPException(422, { res: refuse(c, bodyHelp) })
  const members = jsonMembers(body.text)
  return members && Object.fromEntries(members)
}

function refuse(c: Context<HttpEnvironment>, problem: string): Response {
  return c.json({ error: problem }, 422)
}

function emailIn(body: unknown): unknown {
  return (body as { email?: unknown } | undefined | null)?.email
}
