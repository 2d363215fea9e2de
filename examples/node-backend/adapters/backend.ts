// The backend that the apps of this folder mount, and their page.
// `agent-service --dev --env node` prints the variables.
import { isAgentAuthError, memoryStorage } from 'agent-auth'
import { createAgentApi } from 'agent-auth/api'
import { type Backend, createBackend, type SessionSource } from 'agent-auth/backend'

const { PORT = '3000', AGENT_BASE_URL: baseUrl = '', ...env } = process.env
export const port: number = Number(PORT)

export const backend: Backend = createBackend({
  authUrl: env.AGENT_AUTH_URL ?? '',
  baseUrl,
  clientId: env.AGENT_CLIENT_ID ?? '',
  clientSecret: env.AGENT_CLIENT_SECRET,
  redirectUri: `http://127.0.0.1:${port}/auth/callback`,
  sessions: memoryStorage(), // for one process
  secrets: (env.COOKIE_SECRET ?? '').split(','), // the newest first
  // What pages may call.
  proxy: ['POST /api/parent_agents/search', 'POST /api/parent_agents'],
})

/** The headers of a page that depends on the session. */
export const perUser = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store', vary: 'Cookie' }

const signOut = `<button id="signOut">Sign out</button><script>
  signOut.onclick = async () => {
    const { ok } = await fetch('/auth/logout', { method: 'POST', headers: { 'x-agent-auth': '1' } })
    if (ok) location.reload()
    else signOut.textContent = 'Sign out again'
  }</script>`

/** Returns a page that counts agents or links to the login. Rejects if the storage or the API fails. */
export async function home(request: SessionSource): Promise<string> {
  const session = await backend.getSession(request)
  if (!session.signedIn) return '<p>signed-out</p><a href="/auth/login?return_to=/">Sign in</a>'
  const api = createAgentApi({ baseUrl, fetch: session.fetch })
  const { count } = await api.parentAgents.search({ limit: 1, offset: 0 })
  return `<p>signed-in</p>${count} agents ${signOut}`
}

/** The login, which returns to the protected page. */
export const login = '/auth/login?return_to=/account'

/** Returns the protected page `/account`, or undefined if its visitor has to sign in. */
export async function account(request: SessionSource): Promise<string | undefined> {
  const session = await backend.getSession(request)
  return session.signedIn ? `<p>account</p>${signOut}` : undefined
}

/** Returns the status for an error: 503 if the same request may succeed later, 502 if the API refused it. */
export function statusOf(error: unknown): 500 | 502 | 503 {
  if (!isAgentAuthError(error)) return 500
  return error.retryable ? 503 : 502
}

/** Prints the port when the app listens. Throws the error that some frameworks pass instead. */
export function started(error?: unknown): void {
  if (error instanceof Error) throw error
  process.stdout.write(`Listening on ${port}\n`)
}
