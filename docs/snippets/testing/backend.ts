import { memoryStorage } from 'agent-auth'
import { createBackend } from 'agent-auth/backend'
import { signedInCookie, testService } from 'agent-auth/testing'
import { afterAll, expect, test } from 'vitest'

const service = await testService({ after: afterAll, client: 'confidential' })
const backend = createBackend({
  ...service.options,
  sessions: memoryStorage(),
  secrets: ['a-secret-for-tests-of-32-characters'],
  proxy: ['POST /api/llm_models/search'],
})
const { origin } = new URL(service.options.redirectUri)

test('the API proxy serves a signed-in user, and no other', async () => {
  const cookie = await signedInCookie(backend.handle, { service })
  const search = (user: Record<string, string>): Promise<Response | null> => {
    const headers = { 'content-type': 'application/json', 'x-agent-auth': '1', origin, ...user }
    return backend.handle(new Request(`${origin}/api/llm_models/search`, { method: 'POST', headers, body: '{}' }))
  }
  service.advance(3_600_000)
  expect((await search({ cookie }))?.status).toBe(200)
  expect((await search({}))?.status).toBe(401)
})
