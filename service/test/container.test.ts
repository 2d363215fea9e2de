import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { readSettings } from '../../examples/node-backend/src/settings.ts'
import { freePort } from '../../test/support/free-port.ts'
import { printed } from '../../test/support/printed.ts'
import { serverUrl } from '../../test/support/servers-client.ts'
import { readCommand } from '../src/cli/read-command.ts'
import { createServiceConfig } from '../src/config.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

interface Instruction {
  name: string
  text: string
}
interface Stage {
  name: string
  image: string
  instructions: Instruction[]
}
interface ComposeService {
  build?: { context: string; target: string }
  image?: string
  environment: Record<string, string>
  ports?: string[]
  depends_on?: Record<string, { condition: string }>
  read_only?: boolean
  cap_drop?: string[]
  healthcheck?: { test: string[] }
}

const dockerfile = await readFile(`${root}Dockerfile`, 'utf8')
const compose = parse(await readFile(`${root}compose.yaml`, 'utf8')) as { services: Record<string, ComposeService> }

/** One instruction a line, without comments. */
const instructions = dockerfile
  .replace(/^#.*\n/gm, '')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => line.trim() !== '')
  .map((line): Instruction => {
    const [, name = '', text = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
    return { name, text }
  })

const stages: Stage[] = []
for (const instruction of instructions) {
  const [, image = '', name = ''] = /^(\S+) AS (\S+)$/.exec(instruction.text) ?? []
  if (instruction.name === 'FROM') stages.push({ name, image, instructions: [] })
  else stages.at(-1)?.instructions.push(instruction)
}

const last = stages.at(-1)
const textsOf = (stage: Stage | undefined, name: string): string[] =>
  (stage?.instructions ?? []).filter((one) => one.name === name).map(({ text }) => text)
const execForm = (text: string | undefined): string[] =>
  JSON.parse(/\[.*\]$/.exec(text ?? '')?.[0] ?? 'null') as string[]
const imageEnvironment = Object.fromEntries(
  textsOf(last, 'ENV').flatMap((text) => text.split(/\s+/).map((pair) => pair.split('=') as [string, string])),
)

/** Fills in the variables of Compose as a user does who follows the page. */
function filled(environment: Record<string, string>): Record<string, string> {
  const values: Record<string, string> = {
    POSTGRES_PASSWORD: 'p',
    AGENT_CLIENT_ID: 'id',
    AGENT_CLIENT_SECRET: 's',
    COOKIE_SECRET: 'c',
  }
  const fill = (text: string): string =>
    text.replace(/\$\{(\w+)[^}]*\}/g, (_, name: string) => values[name] ?? 'MISSING')
  return Object.fromEntries(Object.entries(environment).map(([name, text]) => [name, fill(text)]))
}

test('the options of the compose file are accepted, and the application calls the service by its name', () => {
  const { app, 'agent-service': service } = compose.services
  const command = readCommand([], { ...imageEnvironment, ...filled(service?.environment ?? {}) })
  if (typeof command === 'string' || command.kind === 'help') throw new Error(String(command))
  const { authPort: _, basePort: __, ...options } = command.options
  const config = createServiceConfig(options)
  expect(config.databaseUrl).toBe('postgresql://agent_service:p@database:5432/agent_service')
  const settings = readSettings(filled(app?.environment ?? {}))
  expect(settings).toMatchObject({ allowHttpHosts: ['agent-service'], authUrl: config.authUrl })
  const hosts = [settings.tokenEndpoint ?? '', settings.baseUrl].map((url) => new URL(url).hostname)
  expect(hosts).toEqual([...config.allowedHosts, ...config.allowedHosts])
  const withoutTls = { ...options, plainHttp: undefined }
  expect(() => createServiceConfig(withoutTls)).toThrow('host is beyond loopback')
})

/** A tree like that of the image. No file of it can be written. */
async function imageTree(): Promise<string> {
  const app = await mkdtemp(join(tmpdir(), 'agent-service-image-'))
  onTestFinished(() => rm(app, { recursive: true, force: true }))
  await mkdir(join(app, 'service/dist'), { recursive: true })
  await cp(await serverUrl('command'), join(app, 'service/dist/cli.js'))
  await writeFile(join(app, 'service/package.json'), await readFile(`${root}service/package.json`))
  await symlink(`${root}node_modules`, join(app, 'node_modules'))
  for (const path of ['service/dist/cli.js', 'service/package.json']) await chmod(join(app, path), 0o444)
  for (const path of ['service/dist', 'service', '.']) await chmod(join(app, path), 0o555)
  return app
}

test('the commands of the image start, check and stop the service, as another user than root in a tree that it cannot write', async () => {
  const app = await imageTree()
  const ports = { AGENT_SERVICE_AUTH_PORT: String(await freePort()), AGENT_SERVICE_BASE_PORT: String(await freePort()) }
  const env = { ...imageEnvironment, AGENT_SERVICE_HOST: '127.0.0.1', AGENT_SERVICE_LOG: 'json', ...ports }
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  function run(command: string[]) {
    const [program = '', ...args] = command.map((part) => part.replace(/^\/app(?=\/)/, app))
    expect(program).toBe('node')
    return spawn(process.execPath, args, { cwd: app, env, ...user, stdio: ['ignore', 'pipe', 'pipe'] })
  }
  const check = execForm(textsOf(last, 'HEALTHCHECK')[0])
  const isHealthy = async (): Promise<number> => ((await once(run(check), 'exit')) as [number])[0]
  const child = run([...execForm(textsOf(last, 'ENTRYPOINT')[0])])
  onTestFinished(() => void child.kill('SIGKILL'))
  await printed(child, /Stop with Ctrl-C\./)
  expect(await isHealthy()).toBe(0)
  child.kill('SIGTERM')
  expect((await once(child, 'exit'))[0]).toBe(0)
  expect(await isHealthy()).toBe(1)
})
