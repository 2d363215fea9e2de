import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { serverUrl } from '../../test/support/servers-client.ts'
import { failureText } from '../src/cli/failures.ts'
import { readCommand, variableOf } from '../src/cli/read-command.ts'
import { helpText } from '../src/cli/texts.ts'
import { createServiceConfig } from '../src/config.ts'
import { commandOptions, type Option, serviceOptions } from '../src/options.ts'
import type { ServiceOptions } from '../src/service-options.ts'
import { startService } from './support/start.ts'

const readme = await readFile(fileURLToPath(new URL('../README.md', import.meta.url)), 'utf8')

/** One value of each option that is not its default, as text and as `createService` takes it. */
const samples: { [Name in keyof Required<ServiceOptions>]: [text: string, value: ServiceOptions[Name]] } = {
  dev: ['on', 'on'],
  authPort: ['4011', 4_011],
  basePort: ['4012', 4_012],
  host: ['127.0.0.2', '127.0.0.2'],
  plainHttp: ['allowed', 'allowed'],
  authUrl: ['https://auth.example', 'https://auth.example'],
  baseUrl: ['https://api.example', 'https://api.example'],
  trustedProxies: ['2', 2],
  dataFile: ['kept.db', 'kept.db'],
  databaseUrl: ['postgresql://db.example/data', 'postgresql://db.example/data'],
  seed: ['seed.yaml', 'seed.yaml'],
  redirectUris: ['https://late.example/cb', ['https://late.example/cb']],
  allowedOrigins: ['https://page.example', ['https://page.example']],
  allowedHosts: ['agent-service', ['agent-service']],
  access: ['{"billing":{"demo":"inactive"}}', { billing: { demo: 'inactive' } }],
  passwordScheme: ['scrypt', 'scrypt'],
  rotation: ['none', 'none'],
  graceMs: ['5', 5],
  accessTokenLifeMs: ['2000', 2_000],
  codeLifeMs: ['3000', 3_000],
  tokenResponse: ['minimal', 'minimal'],
  tokenClaims: ['profile', 'profile'],
  log: ['json', 'json'],
}
const rows = Object.entries(samples).map(
  ([name, [text, value]]) => [name, serviceOptions[name as keyof ServiceOptions] as Option, text, value] as const,
)

function optionsOf(args: string[], environment: Record<string, string> = {}): ServiceOptions {
  const command = readCommand(args, environment)
  if (typeof command === 'string' || command.kind === 'help') throw new Error(String(command))
  return command.options
}

function flagsFor({ flag, kind }: Option, text: string): string[] {
  return kind === 'switch' ? [`--${flag}`] : [`--${flag}`, text]
}

test.each(rows)('%s is the same as a flag, as a variable and in code', (name, entry, text, value) => {
  expect(optionsOf(flagsFor(entry, text))).toHaveProperty(name, value)
  expect(optionsOf([], { [variableOf(entry)]: text })).toHaveProperty(name, value)
  if (name === 'authPort' || name === 'basePort') return
  const config = createServiceConfig({ [name]: value })
  expect(config).toHaveProperty(name, value)
  expect(createServiceConfig({})).not.toHaveProperty(name, value)
})

test('a flag wins over its variable, and an empty variable is none', () => {
  const environment = { AGENT_SERVICE_GRACE_MS: '7', AGENT_SERVICE_SEED: '' }
  expect(optionsOf([], environment)).toMatchObject({ graceMs: 7 })
  expect(optionsOf(['--grace-ms', '5'], environment)).toMatchObject({ graceMs: 5 })
  expect(optionsOf([], environment)).not.toHaveProperty('seed')
})

test('the options of the command alone are flags and variables', () => {
  const set = { framework: 'next', output: 'json', opens: 'pages' }
  expect(readCommand(['--env', 'next', '--json', '--open'], {})).toMatchObject(set)
  const variables = { AGENT_SERVICE_ENV: 'next', AGENT_SERVICE_JSON: 'true', AGENT_SERVICE_OPEN: '1' }
  expect(readCommand([], variables)).toMatchObject(set)
  for (const quiet of [readCommand(['--quiet'], {}), readCommand([], { AGENT_SERVICE_QUIET: 'on' })])
    expect(quiet).toMatchObject({ output: 'nothing' })
  expect(Object.keys(commandOptions).sort()).toEqual(['env', 'json', 'open', 'quiet'])
})

test('a list is separated by spaces in its variable, and --no-dev wins over AGENT_SERVICE_DEV=on', () => {
  const uris = ['https://a.example/cb', 'https://b.example/cb']
  expect(optionsOf([], { AGENT_SERVICE_REDIRECT_URI: ` ${uris.join('\n ')}` }).redirectUris).toEqual(uris)
  expect(optionsOf(['--no-dev'], { AGENT_SERVICE_DEV: 'on' }).dev).toBe('off')
})

test.each([
  [{ AGENT_SERVICE_DEV: 'maybe' }, 'AGENT_SERVICE_DEV takes on or off'],
  [{ AGENT_SERVICE_GRACE_MS: '600001' }, 'AGENT_SERVICE_GRACE_MS takes a whole number from 0 to 600000'],
  [{ AGENT_SERVICE_ROTATION: 'never' }, 'AGENT_SERVICE_ROTATION takes rotate or none'],
  [{ AGENT_SERVICE_ACCESS: '{' }, 'AGENT_SERVICE_ACCESS takes an object as JSON'],
  [{ AGENT_SERVICE_ENV: 'rails' }, 'AGENT_SERVICE_ENV takes vite, next or node'],
])('%o is refused with the name of the variable, and without its value', (environment, text) => {
  expect(readCommand([], environment)).toBe(text)
})

test.each([
  [{ AGENT_SERVICE_REDIRECT_URI: 'javascript:x' }, /^AGENT_SERVICE_REDIRECT_URI: /],
  [{ AGENT_SERVICE_AUTH_PORT: '4002' }, /^AGENT_SERVICE_AUTH_PORT and --base-port are both 4002/],
])('%o is refused with the name of the variable that it came from', (environment, text) => {
  expect(readCommand([], environment)).toMatch(text)
})

test('a failure to start names each option as it was given', () => {
  const command = readCommand(['--base-url', 'http://x.example'], { AGENT_SERVICE_HOST: '::1' })
  if (typeof command === 'string' || command.kind === 'help') throw new Error(String(command))
  const text = (message: string): string => failureText(new TypeError(message), undefined, command.nameOf)
  expect(text('host must be an IP address')).toBe('AGENT_SERVICE_HOST must be an IP address')
  expect(text('baseUrl must be an origin')).toBe('--base-url must be an origin')
  const inUse = Object.assign(new Error('in use'), { code: 'EADDRNOTAVAIL', address: '192.0.2.1' })
  expect(failureText(inUse, undefined, command.nameOf)).toMatch(/choose another with AGENT_SERVICE_HOST$/)
})

test('a variable that is no option is named, and the service starts', () => {
  expect(readCommand([], { AGENT_SERVICE_PORT: '1', OTHER: 'x' })).toMatchObject({
    kind: 'start',
    warnings: ['the variable AGENT_SERVICE_PORT is no option; --help lists them'],
  })
})

const databaseUrl = 'postgresql://db.example/data'

test.each([
  [['--data', 'a.db'], { AGENT_SERVICE_DATABASE_URL: databaseUrl, DATABASE_URL: databaseUrl }, { dataFile: 'a.db' }],
  [['--database-url', databaseUrl], { AGENT_SERVICE_DATA: 'a.db' }, { databaseUrl }],
  [[], { AGENT_SERVICE_DATA: 'a.db', DATABASE_URL: databaseUrl }, { dataFile: 'a.db' }],
  [[], { DATABASE_URL: databaseUrl }, { databaseUrl }],
  [[], { DATABASE_URL: '' }, {}],
])('with %j and %o the data is in %o', (args, environment, place) => {
  const { dataFile, databaseUrl: url } = optionsOf(args, environment)
  expect({ ...(dataFile && { dataFile }), ...(url && { databaseUrl: url }) }).toEqual(place)
})

/** The table of the README, from the list. */
function tableOf(): string {
  const rows = [
    ...Object.entries<Option>(serviceOptions).map(([name, entry]) => rowOf(entry, `\`${name}\``)),
    ...Object.values<Option>(commandOptions).map((entry) => rowOf(entry, '')),
  ]
  const head = '| Flag | Variable | In code | Default | Meaning |\n|---|---|---|---|---|\n'
  return head + rows.join('')
}

function rowOf(entry: Option, name: string): string {
  const flag = `\`--${entry.flag}${entry.value === undefined ? '' : ` ${entry.value}`}\``
  const standard = entry.standard.replace(/^\d+$/, (digits) => Number(digits).toLocaleString('en-US'))
  return `| ${flag} | \`${variableOf(entry)}\` | ${name} | ${standard} | ${entry.meaning} |\n`
}

test('the table of the README is the list of options', () => {
  const start = readme.indexOf('| Flag | Variable |')
  expect(readme.slice(start, readme.indexOf('\n\n', start) + 1)).toBe(tableOf())
})

test('--help has each option with its default', () => {
  for (const { flag, value } of [...Object.values<Option>(serviceOptions), ...Object.values<Option>(commandOptions)])
    expect(helpText).toContain(`\n  --${flag}${value === undefined ? '' : ` ${value}`}`)
  expect(helpText.match(/\(default:\s/g)?.length).toBeGreaterThanOrEqual(Object.keys(serviceOptions).length + 4)
})

test.each([
  [
    { host: '0.0.0.0' },
    "host is beyond loopback: set https in authUrl and baseUrl, trustedProxies, or plainHttp 'allowed'",
  ],
  [{ host: '::' }, 'host is beyond loopback'],
  [{ host: '0.0.0.0', authUrl: 'https://auth.example' }, 'host is beyond loopback'],
  [{ host: 'localhost' }, 'host must be an IP address such as 127.0.0.1, 0.0.0.0 or ::1'],
  [{ host: '0.0.0.0', plainHttp: 'allowed', dev: 'on' }, 'the dev controls need a loopback host'],
] as [ServiceOptions, string][])('%o is refused', (options, text) => {
  expect(() => createServiceConfig(options)).toThrow(text)
})

test.each([
  { host: '::1', dev: 'on' },
  { host: '0.0.0.0', plainHttp: 'allowed' },
  { host: '0.0.0.0', trustedProxies: 1 },
  { host: '0.0.0.0', authUrl: 'https://auth.example', baseUrl: 'https://api.example' },
] as ServiceOptions[])('%o is taken', (options) => {
  expect(createServiceConfig(options).host).toBe(options.host)
})

test.each(['127.0.0.2', '::1'])('the service listens on the host %s and says so in its URLs', async (host) => {
  const service = await startService({ host })
  onTestFinished(service.close)
  const { hostname } = new URL(service.authUrl)
  expect(hostname).toBe(host === '::1' ? '[::1]' : host)
  expect((await fetch(`${service.baseUrl}/openapi.json`)).status).toBe(200)
})

test('a host that this machine does not have is named with the option', async () => {
  // 192.0.2.0/24 is for documentation (RFC 5737).
  const started = startService({ host: '192.0.2.7', plainHttp: 'allowed' })
  await expect(started).rejects.toThrow('this machine has no address 192.0.2.7: choose another with host')
})

test('--open starts the browser with the dev page, and --quiet prints nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agent-service-open-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const opened = join(folder, 'opened')
  await writeFile(
    join(folder, 'xdg-open'),
    `#!/bin/sh\nprintf %s "$1" > "${opened}.part" && mv "${opened}.part" "${opened}"\n`,
    { mode: 0o755 },
  )
  const args = [await serverUrl('command'), '--dev', '--open', '--quiet', '--auth-port', '0', '--base-port', '0']
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` }
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let stdout = ''
  child.stdout.on('data', (bytes) => {
    stdout += bytes
  })
  await expect.poll(() => existsSync(opened)).toBe(true)
  expect(await readFile(opened, 'utf8')).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/_dev$/)
  child.kill('SIGTERM')
  await once(child, 'close')
  expect(stdout).toBe('')
})
