import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { testService } from 'agent-auth/testing'

const service = await testService({ after })

test('a call after an hour succeeds', async () => {
  service.advance(3_600_000)
  const headers = { 'content-type': 'application/json' }
  const response = await service.fetch('/api/llm_models/search', { method: 'POST', headers, body: '{}' })
  assert.equal(response.status, 200)
})
