import { backend } from './node-backend.ts'

/** A page that calls the API on the server, with the token of the user. */
export async function page(request: Request): Promise<Response> {
  const session = await backend.getSession(request)
  const isSignedIn = session.status === 'signed-in' || session.status === 'needs_refresh'
  if (!isSignedIn) return new Response('<a href="/auth/login?return_to=/">Sign in</a>', html)
  const body = JSON.stringify({ limit: 10, offset: 0 })
  const headers = { 'content-type': 'application/json' }
  const answered = await session.fetch('/api/llm_models/search', { method: 'POST', headers, body })
  return new Response(`<p>The API answered ${answered.status}.</p>`, html)
}

const html = { headers: { 'content-type': 'text/html', 'cache-control': 'no-store', vary: 'Cookie' } }
