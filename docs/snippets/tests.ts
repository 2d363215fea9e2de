import { testService } from 'agent-auth/testing'
import { afterAll, expect, test } from 'vitest' // or Jest, or node:test

const service = await testService({ after: afterAll }) // agent-service in this process, and a user who is signed in

test('an expired token is refreshed, and the call succeeds', async () => {
  service.advance(3_600_000)
  const headers = { 'content-type': 'application/json' }
  const response = await service.fetch('/api/llm_models/search', { method: 'POST', headers, body: '{}' })
  expect(response.status).toBe(200)
})
