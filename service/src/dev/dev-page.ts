import type { Context, Hono } from 'hono'
import type { AccessChange } from '../access-change.ts'
import { randomSecret, sameText } from '../credentials/tokens.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import type { Fields } from '../http/messages.ts'
import type { DevControls } from '../service.ts'
import { readInteractionForm } from '../sign-in/browser.ts'
import type { FaultEffect } from '../state.ts'
import { showError } from '../ui/pages.tsx'
import type { Roster } from './controls.ts'
import type { Logins } from './login-traces.ts'
import { type Notice, showDevPage } from './views/dev.tsx'
import { showLoginPage } from './views/login.tsx'

interface DevAction {
  /** What the page shows after the action. */
  done: string
  /** If it returns a string, the page shows that once instead. */
  run(dev: DevControls, get: Fields): unknown
}

const minuteMs = 60_000

const effects: Record<string, FaultEffect> = {
  'drop-after-commit': 'drop-after-commit',
  reset: 'reset',
  truncate: 'truncate',
  'status 500': { status: 500, body: { error: 'server_error' } },
  'status 503': { status: 503, headers: { 'Retry-After': '1' } },
  'delay 2 s': { delayMs: 2_000 },
}

const effectNames: readonly string[] = Object.keys(effects)

const actions: Record<string, DevAction> = {
  advance: { done: 'The clock was moved ahead.', run: (dev, get) => dev.advance(Number(get('minutes')) * minuteMs) },
  freeze: { done: 'The clock is stopped.', run: (dev) => dev.freeze() },
  unfreeze: { done: 'The clock runs again.', run: (dev) => dev.unfreeze() },
  expire: { done: 'Every access token is expired.', run: (dev) => dev.expireAccessTokens() },
  revoke: { done: 'Every refresh token is revoked.', run: (dev) => dev.revokeRefreshTokens() },
  reset: { done: 'The data was reset to its initial state. The clock was not changed.', run: (dev) => dev.reset() },
  'auto-approve': { done: 'Automatic approval was set.', run: (dev, get) => dev.autoApprove(get('email')) },
  'session-token': {
    done: 'A session token was issued.',
    run: async (dev, get) => `Session token: ${await dev.mintSessionToken(get('email') ?? '')}`,
  },
  'billing-active': access('The tenant has active billing.', (name) => ({ billing: { [name]: 'active' } })),
  'billing-inactive': access('The tenant has no active billing.', (name) => ({ billing: { [name]: 'inactive' } })),
  'endpoint-billed': access('The endpoint needs active billing.', (name) => ({
    endpointBilling: { [name]: 'needed' },
  })),
  'endpoint-unbilled': access('The endpoint needs no billing.', (name) => ({
    endpointBilling: { [name]: 'not-needed' },
  })),
  'client-approved': access('The client is approved.', (name) => ({ approval: { [name]: 'approved' } })),
  'client-unapproved': access('The client is not approved.', (name) => ({ approval: { [name]: 'unapproved' } })),
  'client-api': access('The client has the api surface.', (name) => ({ surfaces: { [name]: ['api'] } })),
  'client-no-api': access('The client lacks the api surface.', (name) => ({ surfaces: { [name]: [] } })),
  permissions: {
    done: 'The permissions were set.',
    run: (dev, get) => {
      const permissions = (get('permissions') ?? '').split(' ').filter((name) => name !== '')
      return dev.setAccess({ permissions: { [get('name') ?? '']: permissions } } as AccessChange)
    },
  },
  'add-fault': { done: 'The fault was added.', run: addFault },
  'clear-faults': { done: 'No faults are left.', run: (dev) => dev.clearFaults() },
}

/** Creates a button that changes the access of the tenant, endpoint or client in the field `name`. */
function access(done: string, change: (name: string) => AccessChange): DevAction {
  return { done, run: (dev, get) => dev.setAccess(change(get('name') ?? '')) }
}

/** Returns what the page shows after an action, or undefined for an unknown name. */
function doneText(name: string): string | undefined {
  return Object.hasOwn(actions, name) ? actions[name]?.done : undefined
}

/** Runs the action and returns the text to show. If the action fails, returns its error message. */
async function actOn(
  dev: DevControls,
  get: Fields,
): Promise<{ kind: 'done'; name: string; text: string | undefined } | { kind: 'refused'; problem: string }> {
  const name = get('action') ?? ''
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined
  if (action === undefined) return { kind: 'refused', problem: 'unknown control; reload the page' }
  try {
    const text = await action.run(dev, get)
    return { kind: 'done', name, text: typeof text === 'string' ? text : undefined }
  } catch (error) {
    return { kind: 'refused', problem: error instanceof Error ? error.message : 'the action failed' }
  }
}

function addFault(dev: DevControls, get: Fields): void {
  const effect = effects[get('effect') ?? '']
  if (effect === undefined) throw new TypeError('unknown effect; choose one of the list')
  const path = get('path')
  dev.addFault({ match: path === undefined ? {} : { path }, effect, times: Number(get('times') ?? 1) })
}

interface DevPageOptions {
  dev: DevControls
  baseUrl: string
  roster(): Roster
  logins: Logins
}

/** GET /_dev shows people, clients, the journal and the controls; its forms post to /_dev/do. */
export function serveDevPage(app: Hono<HttpEnvironment>, { dev, baseUrl, roster, logins }: DevPageOptions): void {
  // A form must send this token back. Another origin cannot read the page, so it does not know it.
  const token = randomSecret()
  const clientName = (id: string | undefined): string =>
    roster().clients.find(({ clientId }) => clientId === id)?.name ?? ''
  const show = (c: Context<HttpEnvironment>, notice?: Notice): Promise<Response> => {
    const state = {
      nowMs: dev.nowMs(),
      clock: dev.clockState(),
      autoApproved: dev.autoApproved(),
      faults: dev.faults(),
      journal: dev.journal(),
      filter: { client: c.req.query('client') ?? '', person: c.req.query('person') ?? '' },
      logins: logins.list(),
    }
    return showDevPage(c, { ...roster(), ...state, clientName, effects: effectNames, baseUrl, token, notice })
  }
  app.get('/', (c) => {
    const text = doneText(c.req.query('done') ?? '')
    return show(c, text === undefined ? undefined : { kind: 'done', text })
  })
  app.get('/logins/:id', (c) => {
    const login = logins.find(c.req.param('id'))
    if (login === undefined) return showError(c, 404, 'This login is not kept any more.', ['Go back to /_dev.'])
    const { emailOf } = roster()
    return showLoginPage(c, { login, token, emailOf, clientName, done: doneText(c.req.query('done') ?? '') })
  })
  app.post('/do', async (c) => {
    const get = await readInteractionForm(c)
    if (get instanceof Response) return get
    if (!sameText(get('token') ?? '', token))
      return showError(c, 403, 'The page is from an earlier start. Reload it and try again.')
    const result = await actOn(dev, get)
    if (result.kind === 'refused') return show(c, { kind: 'refused', text: result.problem })
    if (result.text !== undefined) return show(c, { kind: 'secret', text: result.text })
    const login = /^\d{1,9}$/.test(get('login') ?? '') ? `/logins/${get('login')}` : ''
    return c.redirect(`/_dev${login}?done=${result.name}`, 303)
  })
}
