import { expect, onTestFinished, test } from 'vitest'
import type { Service, ServiceOptions } from '../../src/index.ts'
import { createService } from '../support/start.ts'

async function started(options: ServiceOptions): Promise<Service> {
  const service = await createService(options)
  onTestFinished(service.close)
  return service
}

async function statuses(service: Service, host: string): Promise<number[]> {
  const urls = [`${service.authUrl}/auth/v1/logout`, `${service.baseUrl}/openapi.json`]
  return Promise.all(urls.map(async (url) => (await service.fetch(url, { headers: { host } })).status))
}

test('a request may name an allowed host on any port, and no other one', async () => {
  const service = await started({ allowedHosts: ['Agent-Service'] })
  for (const host of ['agent-service:4001', 'agent-service:9', 'agent-service', 'AGENT-SERVICE:4002'])
    expect({ host, statuses: await statuses(service, host) }).toEqual({ host, statuses: [200, 200] })
  for (const host of ['evil.example', 'agent-service.evil.example', 'x.agent-service', 'agent-service:80:80'])
    expect({ host, statuses: await statuses(service, host) }).toEqual({ host, statuses: [421, 421] })
  expect(await statuses(await started({}), 'agent-service:4001')).toEqual([421, 421])
})

test('behind a trusted proxy, a Host that lies gets 421, and other headers name no host', async () => {
  const service = await started({
    authUrl: 'https://auth.example',
    baseUrl: 'https://api.example',
    trustedProxies: 1,
  })
  expect(await statuses(service, 'evil.example')).toEqual([421, 421])
  expect(await statuses(service, 'auth.example:8443')).toEqual([421, 421])
  expect(await statuses(service, 'auth.example:443')).toEqual([200, 421])
  const lies = {
    'x-forwarded-for': '192.0.2.1',
    'x-forwarded-proto': 'http',
    forwarded: 'for=192.0.2.1;host=evil.example',
  }
  for (const headers of [{}, { ...lies, 'x-forwarded-host': 'evil.example', 'x-original-host': 'evil.example' }]) {
    const page = await service.fetch(`${service.authUrl}/auth/v1/clients`, {
      headers: { host: 'auth.example', ...headers },
    })
    const seen = [page.status, await page.text(), ...page.headers].join(' ')
    expect(seen).toMatch(/^200 .*__Host-/s)
    expect(seen).not.toContain('evil.example')
  }
})

test.each(['*', '*.example', 'http://agent-service', 'agent-service:4001', '', 'a b'])(
  'allowedHosts takes no %j',
  async (name) => {
    const message = 'allowedHosts must be a list of host names without scheme, port or wildcard'
    await expect(createService({ allowedHosts: [name] })).rejects.toThrow(new TypeError(message))
  },
)
