import { isAgentAuthError } from 'agent-auth'
import { createAgentApi } from 'agent-auth/api'
import { backend } from './node-backend.ts'

const html = { headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store', vary: 'Cookie' } }

/** A page that calls the API on the server, with the token of the user. */
export async function page(request: Request): Promise<Response> {
  try {
    const session = await backend.getSession(request)
    if (!session.signedIn) return new Response('<a href="/auth/login?return_to=/">Sign in</a>', html)
    const api = createAgentApi({ baseUrl: 'https://api.example.com', fetch: session.fetch })
    const { count } = await api.llmModels.search({ limit: 10, offset: 0 })
    return new Response(`<p>${count} models</p>`, html)
  } catch (error) {
    const canSucceedLater = isAgentAuthError(error) && error.retryable
    return new Response('The page failed. Load it again.', { ...html, status: canSucceedLater ? 503 : 500 })
  }
}
