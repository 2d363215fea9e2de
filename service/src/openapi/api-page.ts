import type { Context } from 'hono'
import { html, raw } from 'hono/html'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { findClientReturningTo } from '../store/tables/clients.ts'
import { hashOf } from '../ui/style.ts'

/** The page to which the authorization server returns the user. The renderer opens it in a popup. */
const redirectPath = '/docs/oauth2-redirect.html'

const style =
  'body { margin: 0 } header { max-width: 1460px; margin: auto; padding: 1rem 20px 0; font: 1rem/1.5 sans-serif }'

/** Starts the renderer. The token stays in the memory of the page. */
const startScript = `
const { clientId, redirectUri } = document.getElementById('api').dataset
const dark = matchMedia('(prefers-color-scheme: dark)')
const paint = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', paint)
paint()
// The token endpoint allows no other header in a preflight than Authorization and Content-Type.
const requestInterceptor = (request) => {
  delete request.headers['X-Requested-With']
  return request
}
const ui = SwaggerUIBundle({
  dom_id: '#api', url: 'openapi.json', validatorUrl: null,
  oauth2RedirectUrl: redirectUri, deepLinking: true, tryItOutEnabled: true, requestInterceptor,
})
ui.initOAuth({ clientId, scopes: 'api.access', usePkceWithAuthorizationCodeGrant: true })
`

/**
 * Shows the OpenAPI document in a renderer that sends requests. It signs in as a public client whose redirect URI is this page's. With dev
 * controls, the page names that client. Its policy allows scripts and styles of this origin, and requests to the two origins.
 */
export async function showApiPage(c: Context<HttpEnvironment>): Promise<Response> {
  const { config, store } = c.get('service')
  const redirectUri = config.baseUrl + redirectPath
  const clientId = config.dev === 'on' ? await findClientReturningTo(store.db, redirectUri) : undefined
  sendPolicy(c, config.authUrl)
  return c.html(html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>API description · Agent Management Service</title>
        <link rel="stylesheet" href="docs/swagger-ui.css" />
        <style>${raw(style)}</style>
      </head>
      <body>
        <header>
          <h1>API description</h1>
          ${
            clientId === undefined
              ? html`<p>To sign in here, use the id of a public client that has the redirect URI <code>${redirectUri}</code></p>`
              : ''
          }
          <noscript><p>This page needs scripts. The description is also the document <a href="openapi.json">openapi.json</a>.</p></noscript>
        </header>
        <main id="api" data-client-id="${clientId ?? ''}" data-redirect-uri="${redirectUri}"></main>
        <script src="docs/swagger-ui-bundle.js"></script>
        <script type="module">${raw(startScript)}</script>
      </body>
    </html>`)
}

/** Sends the policy of the page and of the files that it loads. The files of the renderer hold no inline script and evaluate no text. */
export function sendPolicy(c: Context<HttpEnvironment>, authUrl: string): void {
  const policy = [
    "default-src 'none'",
    `script-src 'self' ${hashOf(startScript)}`,
    `style-src 'self' ${hashOf(style)}`,
    "img-src 'self' data:",
    `connect-src 'self' ${authUrl}`,
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ]
  c.header('Content-Security-Policy', policy.join('; '))
  c.header('X-Frame-Options', 'DENY')
  c.header('Referrer-Policy', 'no-referrer')
  c.header('Cache-Control', 'no-store')
}
