import type { Context, Hono } from 'hono'
import { readOwnForm } from '../auth/own-form.ts'
import { randomSecret, sameText } from '../auth/secrets.ts'
import type { HttpEnvironment } from '../http/environment.ts'
import { showDevPage } from '../pages/dev.tsx'
import { showError } from '../pages/error.tsx'
import type { DevControls } from '../service.ts'
import { actOn, effectNames } from './dev-actions.ts'
import type { Roster } from './roster.ts'

interface DevPageOptions {
  dev: DevControls
  roster(): Roster
}

/** GET /_dev shows people, clients, the journal and the controls; its forms post to /_dev/do. */
export function serveDevPage(app: Hono<HttpEnvironment>, { dev, roster }: DevPageOptions): void {
  // No other origin can read the page, so none knows this.
  const token = randomSecret()
  const show = (c: Context<HttpEnvironment>, status: 200 | 422, notice?: string): Promise<Response> => {
    const page = { ...roster(), effects: effectNames, nowMs: dev.nowMs(), journal: dev.journal(), token, status }
    return showDevPage(c, notice === undefined ? page : { ...page, notice })
  }
  app.get('/', (c) => show(c, 200))
  app.post('/do', async (c) => {
    const get = await readOwnForm(c)
    if (get instanceof Response) return get
    if (!sameText(get('token') ?? '', token)) return showError(c, 403, 'Open the page again.')
    const result = await actOn(dev, get)
    if (result.kind === 'refused') return show(c, 422, result.problem)
    return result.text === undefined ? c.redirect('/_dev', 303) : show(c, 200, result.text)
  })
}
