import { afterEach, expect, test } from 'vitest'
import { addressGroup } from '../../src/http/messages.ts'
import type { Service } from '../../src/index.ts'
import { basic, clientOf } from '../support/login.ts'
import { createService } from '../support/start.ts'

let service: Service | undefined
afterEach(async () => {
  await service?.close()
  service = undefined
})

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['203.0.113.7:4711', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
  ['[2001:db8::1]:4711', '2001:db8:0:0::/64'],
  ['[2001:db8::1]', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['fe80::1%eth0', undefined],
  ['unknown', undefined],
  ['203.0.113.300', undefined],
  ['', undefined],
])('%s counts as %s', (text, group) => {
  expect(addressGroup(text)).toBe(group)
})

/** A wrong secret for an invented client, so that nothing but the address is counted. */
async function guess(client: number, forwarded: Record<string, string>): Promise<number> {
  if (service === undefined) throw new Error('start one first')
  const authorization = `Basic ${Buffer.from(`app_${client}:x`).toString('base64')}`
  const answer = await service.fetch(`${service.authUrl}/auth/v1/token?grant_type=refresh_token`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json', ...forwarded },
    body: '{"refresh_token":"x"}',
  })
  return answer.status
}

const via = (value: string): Record<string, string> => ({ 'x-forwarded-for': value })

async function exhaust(headers: (count: number) => Record<string, string>): Promise<void> {
  service?.dev.freeze()
  for (let count = 0; count < 101; count += 1) expect(await guess(count, headers(count))).toBe(401)
}

test('behind a trusted proxy one address cannot try many clients, and others go on', async () => {
  service = await createService({ trustedProxies: 1 })
  await exhaust((count) => via(`10.0.${count}.1, 203.0.113.7`))
  expect(await guess(101, via('203.0.113.7'))).toBe(429)
  expect(await guess(102, via('198.51.100.1, 203.0.113.7'))).toBe(429)
  expect(await guess(103, via('198.51.100.1'))).toBe(401)
})

test('of two trusted proxies the outer one says who the client is', async () => {
  service = await createService({ trustedProxies: 2 })
  await exhaust((count) => via(`10.0.${count}.1, 203.0.113.7, 10.1.${count}.1`))
  expect(await guess(101, via('203.0.113.7, 10.0.0.1'))).toBe(429)
  expect(await guess(102, via('198.51.100.1, 10.0.0.1'))).toBe(401)
})

test.each([
  ['no proxy is trusted', 0, () => via('203.0.113.7')],
  ['the header has fewer addresses than there are proxies', 2, () => via('203.0.113.7')],
  ['the header is absent', 1, () => ({})],
  ['the proxy’s entry is no address', 1, () => via('unknown')],
])('where %s, addresses are not told apart and limit no client', async (_, trustedProxies, headers) => {
  service = await createService({ trustedProxies })
  await exhaust(headers)
  expect(await guess(101, headers())).toBe(401)
})

test('a right secret passes from an address that is slowed down', async () => {
  service = await createService({ trustedProxies: 1 })
  await exhaust(() => via('203.0.113.7'))
  const client = clientOf(service, 'Demo confidential')
  const answer = await service.fetch(`${service.authUrl}/auth/v1/token?grant_type=refresh_token`, {
    method: 'POST',
    headers: { authorization: basic(client), 'content-type': 'application/json', ...via('203.0.113.7') },
    body: '{"refresh_token":"x"}',
  })
  expect({ status: answer.status, error: ((await answer.json()) as { error: string }).error }).toEqual({
    status: 400,
    error: 'invalid_grant',
  })
})

test.each([-1, 11, 1.5, '1'])('trustedProxies takes no %s', async (trustedProxies) => {
  await expect(createService({ trustedProxies: trustedProxies as number })).rejects.toThrow(
    new TypeError('trustedProxies must be a whole number from 0 to 10'),
  )
})
