import { memoryStorage } from 'agent-auth'
import { createBackend } from 'agent-auth/backend'
import { login } from './login.js'

export default {
  async fetch(request) {
    const settings = await request.json()
    await login(settings)
    if (request.url.endsWith('proxy')) await proxiedCall(settings)
    return new Response('signed in')
  },
}

const origin = 'https://app.demo.example'

/** A user who is signed in through a backend calls the API by its proxy. */
async function proxiedCall(settings) {
  const backend = createBackend({
    ...settings,
    redirectUri: `${origin}/auth/callback`,
    sessions: memoryStorage(),
    secrets: ['a secret of this test, and of nothing else'],
    proxy: ['POST /api/llm_models/search'],
  })
  const toService = await backend.handle(new Request(`${origin}/auth/login`))
  const answer = await fetch(toService.headers.get('location'), { redirect: 'manual' })
  const callback = new Request(answer.headers.get('location'), { headers: { cookie: cookiesOf(toService) } })
  const signedIn = await backend.handle(callback)
  const headers = { cookie: cookiesOf(signedIn), origin, 'x-agent-auth': '1', 'content-type': 'application/json' }
  const call = new Request(`${origin}/api/llm_models/search`, { method: 'POST', headers, body: '{}' })
  const response = await backend.handle(call)
  if (response.status !== 200) throw new Error(`the proxy responded with ${response.status}: ${await response.text()}`)
}

function cookiesOf(response) {
  // Workers of an old date lack getSetCookie.
  return response.headers
    .getAll('set-cookie')
    .map((cookie) => cookie.split(';', 1)[0])
    .join('; ')
}
