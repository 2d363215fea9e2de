import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { runInProcess } from '../../../test/support/in-process.ts'
import { serverUrl } from '../../../test/support/servers-client.ts'
import { commandMain } from '../../src/cli/command.ts'
import type { Seed } from '../../src/index.ts'
import { seedJsonSchema } from '../../src/seed/seed-schema.ts'
import { authorize, clientOf, login, personOf } from '../support/login.ts'
import { startedService } from '../support/processes.ts'
import { createService } from '../support/start.ts'

const service = fileURLToPath(new URL('../../', import.meta.url))

test('seed.schema.json of the package is the schema that a seed is checked against', async () => {
  expect(JSON.parse(await readFile(`${service}seed.schema.json`, 'utf8'))).toEqual(seedJsonSchema())
})

test('the example of the package logs in, as users and clients of it say', async () => {
  const acme = await createService({ seed: `${service}seeds/acme.yaml` })
  onTestFinished(acme.close)
  const [mia, web, trial] = [personOf(acme, 'mia'), clientOf(acme, 'Acme web'), clientOf(acme, 'Acme trial')]
  expect({ password: mia.password, clientId: web.clientId }).toEqual({
    password: 'correct horse battery staple',
    clientId: 'acme-web',
  })
  const redirectUri = 'http://127.0.0.1:5173/callback'
  expect((await login(acme, { person: mia, client: web, redirectUri })).access_token).toMatch(/\S/)
  const refused = await authorize(acme, { person: mia, client: trial, redirectUri: 'http://127.0.0.1/callback' })
  expect(refused.url.searchParams.get('error')).toBe('unauthorized_client')
})

/** Runs the command by a shell, which limits it or redirects its output, until it ends. */
async function runInShell(line: string, ...args: string[]): Promise<{ code: number; stderr: string }> {
  const command = await serverUrl('command')
  const child = spawn('bash', ['-c', line, process.execPath, command, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
  let stderr = ''
  child.stderr.on('data', (bytes) => {
    stderr += bytes
  })
  const [code] = (await once(child, 'close')) as [number]
  return { code, stderr }
}

test('an export is whole or not there, also where the disk is full', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agent-service-export-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const [data, out] = [join(folder, 'data.db'), join(folder, 'out.json')]
  const agents = Array.from({ length: 100 }, (_, index) => {
    return { agent_name: `Agent ${index}`, description: 'x', parent_agent_type: 'T' }
  })
  await (
    await createService({ dataFile: data, passwordScheme: 'keyed', seed: { tenants: [{ id: 'team' }], agents } })
  ).close()
  await writeFile(out, 'as before')
  // A limit on the size of files fails in the same place as a full disk. The database's own files stay below it.
  const limited = await runInShell('ulimit -f 64; exec "$0" "$@"', 'export', '--data', data, '--out', out)
  const unchanged = `agent-service: the export could not be written to "${out}" (EFBIG); nothing was changed there\n`
  expect(limited).toEqual({ code: 1, stderr: unchanged })
  expect({
    text: await readFile(out, 'utf8'),
    files: (await readdir(folder)).filter((name) => name.startsWith('out')),
  }).toEqual({ text: 'as before', files: ['out.json'] })
  const full = await runInShell('exec "$0" "$@" > /dev/full', 'export', '--data', data)
  expect(full).toEqual({ code: 1, stderr: 'agent-service: the output could not be written (ENOSPC)\n' })
  expect(await runInShell('exec "$0" "$@"', 'export', '--data', data, '--out', out)).toEqual({ code: 0, stderr: '' })
  expect({
    agents: (JSON.parse(await readFile(out, 'utf8')) as Seed).agents?.length,
    mode: (await stat(out)).mode & 0o777,
  }).toEqual({ agents: 100, mode: 0o600 })
})

test.each([
  [['--data', 'none.db'], 1, 'agent-service: there is no data file "none.db"; '],
  [['--ot', 'x'], 2, "agent-service: Unknown option '--ot'\n"],
])('export %j ends with %i', async (args, code, text) => {
  const ended = await runInProcess(commandMain, ['export', ...args], process.env)
  expect({ code: ended.code, hasText: ended.err.startsWith(text) }).toEqual({ code, hasText: true })
})

test('the command as it is built starts with a seed in YAML, and ends with the path of a mistake', async () => {
  const command = await serverUrl('command')
  const run = (file: string) => {
    const child = spawn(process.execPath, [command, '--json', '--auth-port', '0', '--base-port', '0'], {
      env: { ...process.env, AGENT_SERVICE_SEED: file },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    return child
  }
  const started = run(`${service}seeds/minimal.yaml`)
  const { people, clients } = await startedService(started)
  expect({ people, clients }).toMatchObject({
    people: [{ email: 'ada@team.example' }],
    clients: [{ clientId: 'team-web' }],
  })
  started.kill('SIGTERM')
  const wrong = run(`${service}package.json`)
  const [said, [code]] = await Promise.all([text(wrong.stderr), once(wrong, 'close')])
  expect(code).toBe(1)
  expect(said).toContain(`agent-service: ${service}package.json: name: is unknown; use $schema`)
})
