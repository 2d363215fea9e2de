import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import * as z from 'zod'
import { serverUrl } from '../../test/support/servers-client.ts'
import { seedSchema } from '../src/seed/seed-schema.ts'
import { authorize, clientOf, login, personOf } from './login.ts'
import { createService } from './start.ts'

const service = fileURLToPath(new URL('../', import.meta.url))

test('seed.schema.json of the package is the schema that a seed is checked against', async () => {
  const schema = z.toJSONSchema(seedSchema, { io: 'input' })
  const title = 'Seed of agent-service'
  expect(JSON.parse(await readFile(`${service}seed.schema.json`, 'utf8'))).toEqual({ title, ...schema })
})

test('the example of the package logs in, as users and clients of it say', async () => {
  const acme = await createService({ seed: `${service}seeds/acme.yaml` })
  onTestFinished(acme.close)
  const [mia, web, trial] = [personOf(acme, 'mia'), clientOf(acme, 'Acme web'), clientOf(acme, 'Acme trial')]
  expect([mia.password, web.clientId]).toEqual(['correct horse battery staple', 'acme-web'])
  const redirectUri = 'http://127.0.0.1:5173/callback'
  expect((await login(acme, { person: mia, client: web, redirectUri })).access_token).toMatch(/\S/)
  const refused = await authorize(acme, { person: mia, client: trial, redirectUri: 'http://127.0.0.1/callback' })
  expect(refused.url.searchParams.get('error')).toBe('unauthorized_client')
})

test('the command starts with a seed, and ends with the line and column of a mistake', async () => {
  const command = await serverUrl('command')
  const run = (file: string): ReturnType<typeof spawn> =>
    spawn(process.execPath, [command, '--json', '--auth-port', '0', '--base-port', '0'], {
      env: { ...process.env, AGENT_SERVICE_SEED: file },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const started = run(`${service}seeds/minimal.json`)
  const [line] = (await once(started.stdout ?? started, 'data')) as [Buffer]
  const { people, clients } = JSON.parse(String(line)) as { people: object[]; clients: object[] }
  expect([people, clients]).toMatchObject([[{ email: 'ada@team.example' }], [{ clientId: 'team-web' }]])
  started.kill('SIGTERM')
  const wrong = run(`${service}package.json`)
  const [[text], [code]] = (await Promise.all([once(wrong.stderr ?? wrong, 'data'), once(wrong, 'exit')])) as [
    [Buffer],
    [number],
  ]
  expect(code).toBe(1)
  expect(String(text)).toContain(`agent-service: ${service}package.json:2:3: name: name is unknown; `)
})
