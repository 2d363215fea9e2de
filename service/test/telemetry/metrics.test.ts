// @module-tag database

// Also tests service/src/http/middleware/host-guard.ts, service/src/server/gauges.ts, service/src/server/operations.ts,
// service/src/telemetry/recorder.ts, service/src/telemetry/telemetry.ts.
import { expect, onTestFinished, test } from 'vitest'
import type { Service, ServiceOptions } from '../../src/index.ts'
import { authorize, authorizeUrl, clientOf, exchange, login, personOf, refresh } from '../support/login.ts'
import { createService, isOnPostgres } from '../support/start.ts'

async function started(options: ServiceOptions): Promise<Service> {
  const service = await createService(options)
  onTestFinished(service.close)
  return service
}

async function scrape(service: Service): Promise<string[]> {
  const response = await service.fetch(`${service.authUrl}/metrics`)
  expect({ status: response.status, contentType: response.headers.get('content-type') }).toEqual({
    status: 200,
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
  })
  return (await response.text()).split('\n')
}

test('the metrics count tokens by grant, refusals by code, events, and time by route, from the start on', async () => {
  const service = await started({ metrics: 'on' })
  const tokens = await login(service)
  await refresh(service, clientOf(service, 'Demo public'), tokens.refresh_token)
  await refresh(service, clientOf(service, 'Demo public'), 'art_wrong')
  await service.fetch(`${service.authUrl}/nothing/at/all`)
  await exchange(service, await authorize(service, { decision: 'deny' }))
  await service.fetch(`${service.baseUrl}/api/llm_models/search`, { method: 'POST' })
  await authorize(service, { parameters: { scope: 'x' } })
  service.dev.autoApprove('ada@demo.example')
  await service.fetch(authorizeUrl(service, { parameters: { response_type: 'token' } }).url)
  const lines = await scrape(service)
  for (const line of [
    'agent_service_tokens_issued_total{grant_type="authorization_code"} 1',
    'agent_service_tokens_issued_total{grant_type="refresh_token"} 1',
    'agent_service_refusals_total{host="auth",code="invalid_grant"} 1',
    'agent_service_refusals_total{host="auth",code="access_denied"} 1',
    'agent_service_refusals_total{host="auth",code="invalid_scope"} 1',
    'agent_service_refusals_total{host="auth",code="unsupported_response_type"} 1',
    'agent_service_refusals_total{host="auth",code="status_404"} 1',
    'agent_service_refusals_total{host="base",code="authentication_error"} 1',
    'agent_service_security_events_total{event="consent_denied"} 1',
    'agent_service_password_hashes{state="waiting"} 0',
    'agent_service_tenant_calls{state="running"} 0',
    'agent_service_request_duration_seconds_count{host="auth",method="GET",route="other",status="404"} 1',
    'agent_service_request_duration_seconds_count{host="base",method="POST",route="/api/llm_models/search",status="401"} 1',
  ]) {
    expect(lines).toContain(line)
  }
  expect(lines.some((line) => /^process_resident_memory_bytes \d+/.test(line))).toBe(true)
  const pool = lines.filter((line) => line.startsWith('agent_service_database_connections{'))
  expect(pool).toHaveLength(isOnPostgres() ? 3 : 0)
  await refresh(service, clientOf(service, 'Demo public'), 'art_wrong')
  expect(await scrape(service)).toContain('agent_service_refusals_total{host="auth",code="invalid_grant"} 2')
})

test('no label names a secret, a user, a client, a tenant or a path that a request chose', async () => {
  const service = await started({ metrics: 'on' })
  const { access_token, refresh_token } = await login(service)
  const ada = personOf(service, 'ada')
  for (const text of [access_token, refresh_token, ada.password]) {
    await service.fetch(`${service.authUrl}/${text}?code=${text}`)
    await service.fetch(`${service.authUrl}/auth/v1/token?grant_type=${text}`, { method: 'POST' })
    await service.fetch(`${service.baseUrl}/api/parent_agents/${text}/state_function/context_variables`)
    await service.fetch(service.authUrl, { method: text.slice(0, 12).replaceAll(/[^a-z]/gi, 'x') })
  }
  const text = (await scrape(service)).join('\n')
  const clients = service.clients.flatMap(({ clientId, name, clientSecret = clientId }) => [
    clientId,
    name,
    clientSecret,
  ])
  for (const hidden of [access_token, refresh_token, ada.password, ada.email, ...clients, 'tenant="']) {
    expect(text).not.toContain(hidden.slice(0, 12))
  }
  const labels = new Set([...text.matchAll(/[{,](\w+)="/g)].map(([, name]) => name))
  expect([...labels].filter((name) => name !== 'le').sort()).toEqual(
    ['code', 'event', 'grant_type', 'host', 'method', 'route', 'state', 'status'].sort(),
  )
})

test('the metrics are on with dev, off without, and refused to a request that a proxy forwarded', async () => {
  const status = async (service: Service, headers: Record<string, string> = {}): Promise<number> =>
    (await service.fetch(`${service.authUrl}/metrics`, { headers })).status
  const dev = await started({ dev: 'on' })
  expect({
    direct: await status(dev),
    forwarded: await status(dev, { 'x-forwarded-for': '192.0.2.1' }),
  }).toEqual({ direct: 200, forwarded: 403 })
  expect(await status(await started({}))).toBe(404)
  expect(await status(await started({ dev: 'on', metrics: 'off' }))).toBe(404)
})

test('the metrics answer an address and a host that is served, and no other name, which may be rebound to this machine', async () => {
  const service = await started({ metrics: 'on', allowedHosts: ['agent-service'] })
  const status = async (host: string): Promise<number> =>
    (await service.fetch(`${service.authUrl}/metrics`, { headers: { host } })).status
  for (const host of [
    new URL(service.authUrl).host,
    'agent-service:4001',
    '10.0.0.7:4001',
    '10.0.0.7',
    '[fd00::7]:4001',
  ])
    expect({ host, status: await status(host) }).toEqual({ host, status: 200 })
  for (const host of ['evil.example', '10.0.0.7.evil.example:4001', '10.0.0.7:80:80', '[::1', ''])
    expect({ host, status: await status(host) }).toEqual({ host, status: 421 })
  expect(service.dev.journal()).toEqual([])
})

test.each([
  ['metrics', 'yes', "metrics must be 'on' or 'off'"],
  ['log', 'xml', "log must be 'off', 'json' or 'pretty'"],
])('%s takes no other value', async (name, value, message) => {
  await expect(createService({ [name]: value } as ServiceOptions)).rejects.toThrow(new TypeError(message))
})
