import type { Context, Hono } from 'hono'
import { randomSecret, sameText } from '../credentials/secrets.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import type { DevControls } from '../service.ts'
import { readInteractionForm } from '../sign-in/interaction-form.ts'
import type { Logins } from '../state/login-traces.ts'
import { showError } from '../ui/error.tsx'
import { actOn, doneText, effectNames } from './dev-actions.ts'
import type { Roster } from './roster.ts'
import type { Notice } from './views/dev.tsx'
import { showDevPage } from './views/dev.tsx'
import { showLoginPage } from './views/login.tsx'

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
