import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { leaks, registerSecret } from '../../../test/support/canary.ts'
import { serverUrl } from '../../../test/support/servers-client.ts'
import { clientOf, login, personOf, refresh, type Service } from '../support/login.ts'
import { startedService } from '../support/processes.ts'

interface Logged {
  service: Service
  child: ChildProcess
  /** Ends the process and returns what it wrote to the standard error. */
  stop(): Promise<string>
}

async function startLogging(format: string): Promise<Logged> {
  const command = await serverUrl('command')
  const ports = ['--auth-port', '0', '--base-port', '0', '--trusted-proxies', '1']
  const child = spawn(process.execPath, [command, '--json', '--log', format, ...ports])
  onTestFinished(() => void child.kill('SIGKILL'))
  let log = ''
  child.stderr.on('data', (bytes) => {
    log += bytes
  })
  return {
    service: await startedService(child),
    child,
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'close')
      return log
    },
  }
}

test('--log json writes one line of JSON for each request and event, with its id and time, and no secret', async () => {
  const { service, child, stop } = await startLogging('json')
  const client = clientOf(service, 'Demo public')
  const { password } = personOf(service, 'ada')
  const tokens = await login(service)
  const confidential = clientOf(service, 'Demo confidential')
  const secrets = { password, ...tokens, client_secret: confidential.clientSecret ?? '' }
  for (const [label, secret] of Object.entries(secrets))
    if (String(secret).length > 20) registerSecret(label, String(secret))
  await refresh(service, client, tokens.refresh_token)
  await fetch(`${service.authUrl}/auth/v1/token?code=${tokens.refresh_token}`, { method: 'POST' })
  const headers = { 'x-request-id': 'req_of_a_proxy', authorization: `Bearer ${tokens.access_token}` }
  const response = await fetch(`${service.baseUrl}/api/none?token=${tokens.access_token}`, { headers })
  expect(response.headers.get('x-request-id')).toBe('req_of_a_proxy')
  const log = await stop()
  const lines = log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  expect({
    first: lines[0]?.msg,
    lastButOne: lines.at(-2)?.msg,
    last: lines.at(-1)?.msg,
    exitCode: child.exitCode,
  }).toEqual({ first: 'started', lastButOne: 'stopping', last: 'stopped', exitCode: 0 })
  const of = (requestId: unknown) => lines.find((line) => line.requestId === requestId)
  expect(of('req_of_a_proxy')).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    pid: child.pid,
    msg: 'request',
    origin: 'base',
    method: 'GET',
    path: '/api/none',
    status: 404,
    authorization: 'bearer',
    contentType: null,
    clientId: client.clientId,
    personId: expect.stringMatching(/^person_/),
    requestId: 'req_of_a_proxy',
    route: 'other',
    refusal: 'not_found',
    durationMs: expect.any(Number),
  })
  expect(lines.filter(({ grantType }) => grantType === 'refresh_token').map(({ status }) => status)).toEqual([200])
  expect(lines.some(({ msg, personId }) => msg === 'sign_in_succeeded' && typeof personId === 'string')).toBe(true)
  expect(leaks(log, 'log')).toEqual([])
})

test('--log pretty writes a line that people read, and an unknown format is refused', async () => {
  const { service, stop } = await startLogging('pretty')
  await fetch(`${service.authUrl}/nothing`)
  const log = await stop()
  expect(log).toMatch(/INFO.*: request\n/)
  expect(log).toContain('/nothing')
  const command = await serverUrl('command')
  const refused = spawn(process.execPath, [command, '--log', 'xml'])
  const [said, [code]] = await Promise.all([text(refused.stderr), once(refused, 'close')])
  expect({ firstLine: said.split('\n')[0], code }).toEqual({
    firstLine: 'agent-service: --log takes json, pretty or off',
    code: 2,
  })
})
