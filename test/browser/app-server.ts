import { createServer } from 'node:http'
import { listen } from '../support/listen.ts'
import { buildScript } from './built-app.ts'
import type { PageConfig } from './kinds.ts'

export interface AppServer {
  readonly origin: string
  /** Runs in every page before the app starts. */
  before: () => void
  /** What the app's server has rendered into the element `root`. */
  rendered: string
  /** Scripts at paths of their own, or in place of the app's. */
  scripts: Record<string, string>
  /** Every address asked for, in order. */
  readonly asked: string[]
  close(): void
}

/** What the pages of the app know of a service. */
interface ServedService {
  readonly authUrl: string
  readonly baseUrl: string
  readonly clients: readonly { readonly name: string; readonly clientId: string }[]
}

/** Serves the test app, built, at every path of an origin of its own; `service` is asked for at each request. */
export async function serveApp(service: () => ServedService): Promise<AppServer> {
  const script = await buildScript('page-app.ts')
  const scripts = (): Record<string, string> => ({
    '/app.js': script,
    '/before.js': `(${app.before})()`,
    ...app.scripts,
  })
  const server = createServer((request, response) => {
    const { url = '' } = request
    const text = scripts()[url]
    app.asked.push(app.origin + url)
    if (text !== undefined) return void response.writeHead(200, { 'content-type': 'text/javascript' }).end(text)
    response.writeHead(200, { 'content-type': 'text/html', 'content-security-policy': policy(service()) })
    response.end(page(service(), app.rendered))
  })
  const origin = `http://127.0.0.1:${await listen(server)}`
  const app: AppServer = { origin, before: () => {}, rendered: '', scripts: {}, asked: [], close: () => server.close() }
  return app
}

function policy({ authUrl, baseUrl }: ServedService): string {
  return `default-src 'none'; script-src 'self'; connect-src ${authUrl} ${baseUrl}; require-trusted-types-for 'script'`
}

function page({ authUrl, baseUrl, clients }: ServedService, rendered: string): string {
  const clientId = clients.find(({ name }) => name === 'Demo public')?.clientId ?? ''
  const config: PageConfig = { authUrl, baseUrl, clientId }
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>App</title>
<div id="root">${rendered}</div><p id="state"></p><button id="redirect">Sign in</button><button id="popup">Sign in in a window</button>
<script type="application/json" id="config">${JSON.stringify(config)}</script>
<script src="/before.js"></script>
<script type="module" src="/app.js"></script></html>`
}
