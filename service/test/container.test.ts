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
import { readCommand, variableOf } from '../src/cli/read-command.ts'
import { createServiceConfig } from '../src/config.ts'
import { serviceOptions } from '../src/options.ts'

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

test('the image is built of known instructions, of pinned images, and runs as another user than root', () => {
  const known = ['FROM', 'WORKDIR', 'COPY', 'RUN', 'ENV', 'USER', 'EXPOSE', 'HEALTHCHECK', 'ENTRYPOINT']
  expect(instructions.filter(({ name }) => !known.includes(name))).toEqual([])
  const names = stages.map(({ name }) => name)
  expect({ last: names.at(-1), different: new Set(names).size }).toEqual({ last: 'service', different: names.length })
  const foreign = stages.map(({ image }) => image).filter((image) => !names.includes(image))
  expect(foreign.filter((image) => !/^node:20\.\d+\.\d+-[a-z-]+$/.test(image))).toEqual([])
  for (const stage of stages.filter(({ instructions: own }) => own.some(({ name }) => name === 'ENTRYPOINT'))) {
    const order = stage.instructions.map(({ name }) => name)
    expect({ stage: stage.name, users: textsOf(stage, 'USER') }).toEqual({ stage: stage.name, users: ['node'] })
    expect(order.indexOf('USER')).toBeGreaterThan(order.lastIndexOf('COPY'))
  }
  expect(dockerfile).not.toMatch(/\b(?:curl|wget|latest|sudo)\b|https?:\/\/(?!127\.0\.0\.1)/)
})

test('what one stage copies from another one is made there, and the image holds no development dependency', () => {
  const earlier = textsOf(last, 'COPY').map((text) => /^--from=(\S+) \/repo\/(\S+) (\S+)$/.exec(text)?.slice(1))
  expect(earlier).toEqual([
    ['dependencies', 'node_modules', 'node_modules'],
    ['build', 'service/package.json', 'service/package.json'],
    ['build', 'service/dist', 'service/dist'],
  ])
  const commands = stages.map((stage) => [stage.name, textsOf(stage, 'RUN').join(' ')])
  expect(Object.fromEntries(commands)).toMatchObject({
    build: expect.stringMatching(/^npm ci .*npm run build:js$/),
    dependencies: expect.stringContaining('--omit=dev'),
    service: '',
  })
})

test('the compose file names stages of the image, pinned images, variables that exist, and ports of this machine only', () => {
  const { app, 'agent-service': service, database } = compose.services
  expect(Object.keys(compose.services)).toEqual(['app', 'agent-service', 'database'])
  expect({ app: app?.build?.target, service: service?.build?.target }).toEqual({ app: 'example', service: 'service' })
  expect(database?.image).toMatch(/^postgres:\d+\.\d+-alpine$/)
  for (const { ports = [], build, read_only, cap_drop } of Object.values(compose.services)) {
    expect(ports.filter((port) => !/^127\.0\.0\.1:\d+:\d+$/.test(port))).toEqual([])
    if (build !== undefined)
      expect({ readOnly: read_only, dropped: cap_drop }).toEqual({ readOnly: true, dropped: ['ALL'] })
  }
  expect(app?.depends_on).toEqual({ 'agent-service': { condition: 'service_healthy' } })
  expect(service?.depends_on).toEqual({ database: { condition: 'service_healthy' } })
  expect(database?.healthcheck?.test[1]).toBe('pg_isready')
  const known = Object.values(serviceOptions).map(variableOf)
  const used = Object.keys({ ...imageEnvironment, ...service?.environment }).filter((name) =>
    name.startsWith('AGENT_SERVICE_'),
  )
  expect(used.filter((name) => !known.includes(name))).toEqual([])
  expect(used.length).toBeGreaterThan(5)
})

test('the options of the compose file are accepted, and the application calls the service by its name', () => {
  const { app, 'agent-service': service } = compose.services
  const command = readCommand([], { ...imageEnvironment, ...filled(service?.environment ?? {}) })
  if (typeof command === 'string') throw new Error(command)
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
