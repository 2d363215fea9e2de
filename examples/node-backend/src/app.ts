import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isAgentAuthError } from 'agent-auth'
import type { Backend } from 'agent-auth/backend'
import { build } from 'esbuild'
import { type Context, Hono } from 'hono'
import type { Sessions } from './sessions.ts'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')

const policy = [
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'",
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
].join('; ')

/** Creates the web app: the routes of the backend, and one page whose HTML says whether a user is signed in. */
export async function createApp(backend: Backend, place: Sessions['place']): Promise<Hono> {
  const page = read('../public/index.html')
  const app = new Hono()
  app.use(async (context, next) => {
    await next()
    // The page shows which of several processes responded.
    context.header('x-process', String(process.pid))
  })
  app.use(async ({ req }, next) => (await backend.handle(req.raw)) ?? next())
  app.get('/', async (context) => {
    const { signedIn } = await backend.getSession(context.req.raw)
    const shown = signedIn ? 'signed-in' : 'signed-out'
    return withHeaders(context).html(page.replace('data-status=""', `data-status="${shown}" data-place="${place}"`))
  })
  serveText(app, '/page.js', 'text/javascript', await bundle('../public/page.js'))
  serveText(app, '/page.css', 'text/css', read('../public/page.css'))
  serveText(app, '/style.css', 'text/css', read('../../common/src/style.css'))
  app.onError((error, context) => {
    // A storage that cannot be read does not sign the user out.
    if (!isAgentAuthError(error) || !error.retryable) return context.text('The app failed. Reload the page.', 500)
    return withHeaders(context).text('The sessions cannot be read at the moment. Reload the page.', 503)
  })
  return app
}

/** Returns a script of the page together with the client that it imports. */
async function bundle(path: string): Promise<string> {
  const entryPoints = [fileURLToPath(new URL(path, import.meta.url))]
  const { outputFiles } = await build({ entryPoints, bundle: true, format: 'esm', target: 'es2022', write: false })
  return outputFiles[0]?.text ?? ''
}

function serveText(app: Hono, path: string, type: string, text: string): void {
  app.get(path, (context) => withHeaders(context).body(text, 200, { 'content-type': `${type}; charset=utf-8` }))
}

function withHeaders(context: Context): Context {
  context.header('content-security-policy', policy)
  context.header('cache-control', 'no-store')
  context.header('vary', 'Cookie')
  context.header('referrer-policy', 'no-referrer')
  context.header('x-content-type-options', 'nosniff')
  return context
}
