import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runInProcess } from '../../../test/support/in-process.ts'
import { serverUrl } from '../../../test/support/servers-client.ts'
import { commandMain } from '../../src/cli/command.ts'
import type { Client, Service } from '../../src/index.ts'
import { agentSearch, Browser, callApi, clientOf, errorOf, login, personOf, refresh } from '../support/login.ts'
import { createService } from '../support/start.ts'

const redirectUri = 'https://new.example/callback'

let command: string
let folder: string
let dataFile: string
let service: Service
beforeAll(async () => {
  command = await serverUrl('command')
  folder = await mkdtemp(join(tmpdir(), 'agent-service-clients-'))
  dataFile = join(folder, 'data.db')
  service = await createService({ dataFile, passwordScheme: 'keyed' })
})
afterAll(async () => {
  await service.close()
  await rm(folder, { recursive: true })
})

/** In a process of its own: one that opens the data file of a service in the process of that service releases its locks. */
function spawned(args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [command, 'clients', ...args], (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr })
    })
  })
}

/** What it prints as JSON, or its message as an error. */
async function run<Value>(...args: string[]): Promise<Value> {
  const { code, stdout, stderr } = await spawned([...args, '--json', '--data', dataFile])
  if (code !== 0) throw new Error(`${code}: ${stderr}`)
  return JSON.parse(stdout) as Value
}

const newClient = ['--tenant', 'demo', '--name', 'From a shell', '--redirect-uri', redirectUri]

function made({ clientId, clientSecret }: { clientId: string; clientSecret?: string }): Client {
  const kind = clientSecret === undefined ? 'public' : 'confidential'
  const secret = clientSecret === undefined ? {} : { clientSecret }
  return { name: 'made', clientId, ...secret, kind, tenant: 'demo', redirectUris: [redirectUri] }
}

test('clients create, rotate-secret and retire-secret work beside a running service', async () => {
  const client = made(await run('create', ...newClient, '--kind', 'confidential'))
  const { refresh_token: first } = await login(service, { client, redirectUri })
  const next = made(await run('rotate-secret', '--client', client.clientId))
  expect(next.clientSecret).not.toBe(client.clientSecret)
  const { refresh_token: second } = await login(service, { client: next, redirectUri })
  await expect(run('rotate-secret', '--client', client.clientId)).rejects.toThrow('retire one first')
  const { clients } = await run<{ clients: { clientId: string; secrets: { id: string }[] }[] }>('list')
  const secrets = clients.find(({ clientId }) => clientId === client.clientId)?.secrets ?? []
  await run('retire-secret', '--client', client.clientId, '--secret', secrets[0]?.id ?? '')
  expect(await errorOf(await refresh(service, client, first))).toBe('invalid_client')
  expect((await refresh(service, next, second)).status).toBe(200)
  const last = run('retire-secret', '--client', client.clientId, '--secret', secrets[1]?.id ?? '')
  await expect(last).rejects.toThrow('only secret')
})

test('clients deactivate is seen by the next request, and activate undoes it', async () => {
  const client = clientOf(service, 'Demo public')
  const { access_token: token } = await login(service, { client })
  const status = async () => (await callApi(service, { token, path: agentSearch, body: {} })).status
  await run('deactivate', '--client', client.clientId)
  expect(await status()).toBe(403)
  await run('activate', '--client', client.clientId)
  expect(await status()).toBe(200)
})

test('clients list shows every tenant or one, and no secret', async () => {
  const { clients } = await run<{ clients: { tenant: string }[] }>('list', '--tenant', 'other')
  expect(clients.map(({ tenant }) => tenant)).toEqual(['other', 'other'])
  const text = JSON.stringify(await run('list'))
  expect(text).toContain('Demo confidential')
  for (const { clientSecret } of service.clients)
    if (clientSecret !== undefined) expect(text).not.toContain(clientSecret)
})

test.each([
  ['an unknown tenant', ['create', ...newClient, '--tenant', 'nowhere'], 'no such tenant; there are demo, other'],
  ['an unknown client', ['activate', '--client', 'app_x'], 'no such client; the action list shows all'],
  ['a bad redirect URI', ['create', ...newClient, '--redirect-uri', 'http://example.com'], 'redirect URI'],
])('clients refuses %s', async (_, args, problem) => {
  await expect(run(...args)).rejects.toThrow(problem)
})

test('a public client has no secret to rotate, and a change that is refused leaves no trace', async () => {
  const client = made(await run('create', ...newClient))
  expect((await login(service, { client, redirectUri })).access_token).not.toBe('')
  await expect(run('rotate-secret', '--client', client.clientId)).rejects.toThrow('no secret')
  expect((await run<{ changes: object[] }>('history', '--client', client.clientId)).changes).toHaveLength(1)
})

test.each([
  ['no action', []],
  ['an unknown action', ['delete']],
  ['an unknown option', ['list', '--bogus']],
  ['no data', ['list']],
  ['create without a name', ['create', '--tenant', 'demo']],
])('clients with %s is a usage error', async (_, args) => {
  const { code, err } = await runInProcess(commandMain, ['clients', ...args], process.env)
  expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(/^agent-service: .*\nTry .*clients --help/) })
})

test('exit codes and output of agent-service clients', async () => {
  const [help, created, listed] = await Promise.all([
    spawned(['--help']),
    spawned(['create', ...newClient, '--kind', 'confidential', '--data', dataFile, '--json']),
    spawned(['list', '--data', dataFile]),
  ])
  expect({ code: help.code, stderr: help.stderr }).toEqual({ code: 0, stderr: '' })
  for (const action of ['create', 'list', 'history', 'activate', 'deactivate', 'rotate-secret', 'retire-secret'])
    expect(help.stdout).toContain(`\n  ${action} `)
  expect(help.stdout).toContain('Exit codes: 0')
  expect({ code: created.code, stderr: created.stderr }).toEqual({ code: 0, stderr: '' })
  expect(JSON.parse(created.stdout)).toEqual({
    clientId: expect.stringMatching(/^app_/),
    clientSecret: expect.stringMatching(/^[\w-]{43}$/),
  })
  expect({ code: listed.code, hasClient: listed.stdout.includes('Demo public') }).toEqual({ code: 0, hasClient: true })
})

test('changes by the command and by the pages leave one trail, with who and without a secret', async () => {
  const client = made(await run('create', ...newClient, '--kind', 'confidential'))
  await run('deactivate', '--client', client.clientId)
  service.dev.advance(1_000)
  const ada = personOf(service, 'ada')
  const browser = new Browser(service.fetch)
  const clients = `${service.authUrl}/auth/v1/clients`
  const { email, password } = ada
  const signedIn = await browser.submit(await browser.get(clients), '/auth/v1/clients/sign-in', { email, password })
  expect(signedIn.status).toBe(303)
  const path = `/auth/v1/clients/${client.clientId}`
  const activated = await browser.submit(await browser.get(service.authUrl + path), `${path}/activity`, {
    activity: 'active',
  })
  expect(activated.next).toBe(path)
  const { changes } = await run<{ changes: { event: string; actor: string; tenant: string }[] }>(
    'history',
    '--client',
    client.clientId,
  )
  expect(changes.map(({ event, actor, tenant }) => ({ event, actor, tenant }))).toEqual([
    { event: 'client_activated', actor: 'ada@demo.example', tenant: 'demo' },
    { event: 'client_deactivated', actor: 'command line', tenant: 'demo' },
    { event: 'client_created', actor: 'command line', tenant: 'demo' },
  ])
  const page = (await browser.get(service.authUrl + path)).html
  const rows = [...page.matchAll(/<td data-column="(?:What|Who)"><bdi>([^<]+)/g)].map(([, text]) => text)
  expect(rows).toEqual(['activated', 'ada@demo.example', 'deactivated', 'command line', 'registered', 'command line'])
  expect(JSON.stringify(changes) + page).not.toContain(client.clientSecret)
  expect((await run<{ changes: object[] }>('history', '--tenant', 'other')).changes).toEqual([])
  await expect(run('history', '--tenant', 'nowhere')).rejects.toThrow('no such tenant')
})

test('several processes that open a data file without tables at once bring it up to date one after another', async () => {
  const fresh = join(folder, 'fresh.db')
  await writeFile(fresh, '')
  const ends = await Promise.all(Array.from({ length: 3 }, () => spawned(['list', '--json', '--data', fresh])))
  expect(ends.map(({ code, stderr }) => ({ code, stderr }))).toEqual(ends.map(() => ({ code: 0, stderr: '' })))
})
