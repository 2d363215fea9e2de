import type { Service } from 'agent-service'
import { expect, test } from 'vitest'
import { lendService } from './support/service-pool.ts'

const redirectUri = 'https://app.example/callback'

/** The secret is random and stays the same after a reset, so it tells which service this is. */
function secretOf({ clients }: Service): string | undefined {
  return clients.find(({ kind }) => kind === 'confidential')?.clientSecret
}

test('a service that was closed is lent again, with the data of a new one', async () => {
  const first = await lendService(redirectUri)
  await first.fetch(`${first.authUrl}/auth/v1/sign-in`)
  expect(first.dev.journal()).toHaveLength(1)
  const secret = secretOf(first)
  await first.close()
  const second = await lendService(redirectUri)
  expect({ secret: secretOf(second), journal: second.dev.journal() }).toEqual({ secret, journal: [] })
  await second.close()
})

test('a service in use is not lent to another', async () => {
  const both = [await lendService(redirectUri), await lendService(redirectUri)]
  const [one, other] = both.map(secretOf)
  expect(one).not.toBe(other)
  for (const service of both) await service.close()
})

test('a service of another redirect URI is not lent', async () => {
  const first = await lendService(redirectUri)
  await first.close()
  const second = await lendService('https://other.example/callback')
  expect(secretOf(second)).not.toBe(secretOf(first))
  await second.close()
})

test('a closed service refuses calls, also when it is lent again', async () => {
  const first = await lendService(redirectUri)
  await first.close()
  const second = await lendService(redirectUri)
  await expect(first.fetch(first.authUrl)).rejects.toThrow('the service is closed')
  expect(() => first.dev.reset()).toThrow('the service is closed')
  expect((await second.fetch(`${second.authUrl}/auth/v1/sign-in`)).status).toBeLessThan(500)
  await second.close()
})

test.each<[string, (service: Service) => unknown]>([
  ['whose clock was moved', ({ dev }) => dev.advance(60_000)],
  ['whose clock stands', ({ dev }) => dev.freeze()],
  [
    'of which a request was aborted',
    ({ authUrl, fetch }) => fetch(authUrl, { signal: AbortSignal.abort() }).catch(() => undefined),
  ],
])('a service %s is not lent again', async (_, use) => {
  const first = await lendService(redirectUri)
  const secret = secretOf(first)
  await use(first)
  await first.close()
  const second = await lendService(redirectUri)
  expect(secretOf(second)).not.toBe(secret)
  await second.close()
})

test('a service with a request in progress is not lent again', async () => {
  const first = await lendService(redirectUri)
  const secret = secretOf(first)
  const request = first.fetch(`${first.authUrl}/auth/v1/sign-in`)
  await first.close()
  const second = await lendService(redirectUri)
  expect(secretOf(second)).not.toBe(secret)
  await Promise.all([request.catch(() => undefined), second.close()])
})
