import { fileURLToPath } from 'node:url'
import { testService } from 'agent-auth/testing'
import { afterAll, expect, test } from 'vitest'

// In examples/frameworks, because these packages are beside those of the repository.
const { axiosOf, axiosWithInterceptors, ofetchOf } = await import(
  /* @vite-ignore */ fileURLToPath(new URL('../../examples/frameworks/clients.ts', import.meta.url))
)
const service = await testService({ after: afterAll, transport: 'loopback' })
const { session, baseUrl, dev } = service

const path = '/api/llm_models/search'
const count = ({ data }: { data: { count: number } }): number => data.count

test.each<[string, () => Promise<{ data: { count: number } }>]>([
  ['axios', async () => (await axiosOf(service.fetch, baseUrl).post(path, { limit: 1, offset: 0 })).data],
  [
    'axios with interceptors',
    async () => (await axiosWithInterceptors(session, baseUrl).post(path, { limit: 1, offset: 0 })).data,
  ],
  ['ofetch', () => ofetchOf(service.fetch, baseUrl)(path, { method: 'POST', body: { limit: 1, offset: 0 } })],
])('%s sends the token, and sends a request again with a new one after a 401', async (_, send) => {
  // A 401 so soon after a refresh would be final.
  service.advance(60_000)
  expect(count(await send())).toBeGreaterThan(0)
  const before = await session.getAccessToken()
  await dev.expireAccessTokens()
  expect(count(await send())).toBeGreaterThan(0)
  expect(await session.getAccessToken()).not.toBe(before)
})
