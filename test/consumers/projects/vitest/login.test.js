import { createSession } from 'agent-auth'
import { testService } from 'agent-auth/testing'
import { afterAll, expect, test } from 'vitest'

const service = await testService({ after: afterAll })

test('logs in where a page is imitated, and a call after an hour succeeds', async () => {
  expect(typeof document).toBe('object')
  const session = createSession(service.config)
  await session.signIn(await service.login())
  service.advance(3_600_000)
  const headers = { 'content-type': 'application/json' }
  const response = await service.fetch('/api/llm_models/search', { method: 'POST', headers, body: '{}' })
  expect(response.status).toBe(200)
})
