import { afterAll, expect, test } from '@jest/globals'
import { testService } from 'agent-auth/testing'

const service = await testService({ after: afterAll })

test('a call after an hour succeeds', async () => {
  service.advance(3_600_000)
  const headers = { 'content-type': 'application/json' }
  const response = await service.fetch('/api/llm_models/search', { method: 'POST', headers, body: '{}' })
  expect(response.status).toBe(200)
})
