import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { leaks, registerSecret } from '../../../test/support/canary.ts'
import { serverUrl } from '../../../test/support/servers-client.ts'
import type { Page, Service } from '../support/login.ts'
import {
  agentSearch,
  authorize,
  authorizeUrl,
  Browser,
  basic,
  callApi,
  clientOf,
  clientsPath,
  exchange,
  login,
  personOf,
  refresh,
  signInPath,
} from '../support/login.ts'
import { startedService } from '../support/processes.ts'
import { startService } from '../support/start.ts'

/** Every kind of traffic, good and bad, with each secret put into every place where a careless log would find it. */
async function stir(service: Service): Promise<void> {
  const note = (label: string, value: string | undefined) => value && registerSecret(label, value)
  const browser = new Browser(service.fetch)
  const { email, password } = personOf(service, 'ada')
  const state = 'Qs7f-state-9Xk2-of-this-test'
  note('state', state)
  note('password', password)
  for (const { clientSecret } of service.clients) note('client secret', clientSecret)
  const callback = await authorize(service, { browser, state })
  note('code', callback.code)
  note('verifier', callback.verifier)
  for (const name of ['browser', 'session']) note(`${name} cookie`, browser.cookie(name))
  const tokens = (await (await exchange(service, callback)).json()) as Record<string, string>
  note('access token', tokens.access_token)
  note('refresh token', tokens.refresh_token)
  await exchange(service, callback)
  await refresh(service, callback.client, tokens.refresh_token ?? '')
  const confidential = clientOf(service, 'Demo confidential')
  note('Basic', basic(confidential).slice('Basic '.length))
  const second = await login(service, { client: confidential })
  note('refresh token', second.refresh_token)
  await refresh(service, { ...confidential, clientSecret: `${confidential.clientSecret}x` }, second.refresh_token)
  await callApi(service, { token: second.access_token, path: agentSearch, body: { search_value: password } })
  await misplaced(service, [callback.code, tokens.access_token ?? '', tokens.refresh_token ?? '', password, state])
  await manage(service, { email, password, note })
}

/** Secrets where they do not belong: in a query, a name, a method's body, a header of another meaning. */
async function misplaced(service: Service, secrets: string[]): Promise<void> {
  for (const secret of secrets) {
    const query = `?grant_type=refresh_token&code=${secret}&client_secret=${secret}&access_token=${secret}`
    await service.fetch(`${service.authUrl}/auth/v1/token${query}`, { method: 'POST', body: '{}' })
    await service.fetch(`${service.authUrl}/auth/v1/authorize?state=${secret}&client_id=${secret}`)
    const headers = {
      authorization: `Bearer ${secret}`,
      'content-type': `${secret}; boundary=${secret}`,
      'user-agent': `agent ${secret}`,
      referer: `https://app.demo.example/?code=${secret}`,
      cookie: `a=${secret}`,
    }
    await service.fetch(`${service.baseUrl}${agentSearch}?token=${secret}`, { method: 'POST', headers, body: '{}' })
    const browser = new Browser(service.fetch)
    const page: Page = await browser.get(authorizeUrl(service).url)
    await browser.submit(page, signInPath, { email: secret, password: secret })
  }
}

async function manage(
  service: Service,
  { email, password, note }: { email: string; password: string; note(label: string, value: string | undefined): void },
): Promise<void> {
  const browser = new Browser(service.fetch)
  const page = await browser.get(service.authUrl + clientsPath)
  await browser.submit(page, `${clientsPath}/sign-in`, { email, password })
  note('session cookie', browser.cookie('session'))
  const form = await browser.get(`${service.authUrl}${clientsPath}/new`)
  const fields = { name: 'Mine', kind: 'confidential', redirect_uris: 'https://mine.example/cb', password }
  const made = await browser.submit(form, clientsPath, fields)
  note('client secret', /id="client-secret">([^<]+)</.exec(made.html)?.[1])
}

/** The same requests as from a client in another process. */
function overSockets({ authUrl, baseUrl, people, clients }: Service): Service {
  return { authUrl, baseUrl, people, clients, fetch: (input, init) => fetch(input, init) }
}

test('after all kinds of traffic the journal holds no eight characters of any secret', async () => {
  const service = await startService({ dev: 'on' })
  await stir(overSockets(service))
  const session = await service.dev.mintSessionToken('ada@demo.example')
  registerSecret('session token', session)
  await callApi(service, { token: session, path: agentSearch, body: {} })
  const entries = service.dev.journal()
  expect(entries.length).toBeGreaterThan(50)
  expect(leaks(JSON.stringify(entries), 'journal')).toEqual([])
  // The sweep sees what is there.
  expect(leaks(`x ${session.slice(6, 20)} y`)).toHaveLength(1)
  await service.close()
})

test('no request writes more than one line of printable text into the journal', async () => {
  const service = await startService({ dev: 'on' })
  const { port, host } = new URL(service.baseUrl)
  const hostile = [
    '/api/x%0d%0a{"kind":"event","event":"sign_in_succeeded"}',
    '/api/%1b[2J%1b[31m%00%e2%80%ae%c2%85',
    `/api/${'x'.repeat(9_000)}`,
    '/%F0%9F%92%A9%ff',
  ]
  for (const path of hostile) {
    const socket = connect(Number(port), '127.0.0.1')
    const head = [`POST ${path} HTTP/1.1`, `Host: ${host}`, 'User-Agent: x\u009b31m', 'Content-Type: \u0080\u009b[2J/x']
    // Without an end: a request whose client has gone before its turn is not handled.
    socket.write(Buffer.from(`${head.join('\r\n')}\r\nConnection: close\r\n\r\n`, 'latin1'))
    socket.resume()
    await once(socket, 'close')
  }
  const entries = service.dev.journal().filter(({ kind }) => kind === 'request')
  expect(entries.length).toBe(hostile.length)
  for (const text of entries.flatMap((entry) => Object.values(entry))) {
    if (typeof text === 'string') expect(text).toMatch(/^[\x21-\x7e]{1,200}$/)
  }
  await service.close()
})

test('a running agent-service prints its start and nothing else, for all that is sent to it', async () => {
  const command = await serverUrl('command')
  const child = spawn(process.execPath, [command, '--dev', '--json', '--auth-port', '0', '--base-port', '0'])
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  let complaints = ''
  child.stderr.on('data', (bytes) => {
    complaints += bytes
  })
  child.stdout.on('data', (bytes) => {
    output += bytes
  })
  const service = await startedService(child)
  const started = output
  await stir(service)
  child.kill('SIGTERM')
  await once(child, 'close')
  expect({ isUnchanged: output === started, complaints, exitCode: child.exitCode }).toEqual({
    isUnchanged: true,
    complaints: '',
    exitCode: 0,
  })
})
