import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { createAuthConfig, memoryStorage } from 'agent-auth'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { doctor } from '../../src/command/doctor.ts'
import {
  chooseSettings,
  openProfile,
  openStorage,
  profileOf,
  readClientSecret,
  replacedProfile,
  type Settings,
  saveSettings,
  whereStorage,
} from '../../src/command/profile.ts'
import { failure, tokensWith } from '../support/token-flow.ts'

const settings: Settings = {
  authUrl: 'https://auth.example.com',
  baseUrl: 'https://api.example.com',
  clientId: 'app',
  redirectUri: 'http://127.0.0.1/callback',
  scope: 'api.access',
}
const flags = { 'auth-url': settings.authUrl, 'base-url': settings.baseUrl, 'client-id': settings.clientId }

function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'agent-auth-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

beforeEach(() => {
  for (const name of ['AGENT_AUTH_URL', 'AGENT_BASE_URL', 'AGENT_PUBLIC_CLIENT_ID', 'AGENT_CLIENT_ID'])
    vi.stubEnv(name, undefined)
  vi.stubEnv('AGENT_AUTH_HOME', join(freshFolder(), 'home'))
})
afterEach(() => vi.unstubAllEnvs())

describe('the settings of a login', () => {
  test('are flags before the environment before those of the last login', async () => {
    const storage = memoryStorage()
    const [second, third] = ['https://second.example.com', 'https://third.example.com']
    expect(await chooseSettings(storage, 'x', flags)).toEqual(settings)
    await saveSettings(storage, 'x', { ...settings, scope: 'other', redirectUri: 'http://127.0.0.1/other' })
    expect(await chooseSettings(storage, 'x', {})).toMatchObject({ authUrl: settings.authUrl, scope: 'other' })
    expect(await chooseSettings(storage, 'x', {})).toMatchObject({ redirectUri: 'http://127.0.0.1/other' })
    for (const name of ['AGENT_AUTH_URL', 'AGENT_BASE_URL', 'AGENT_PUBLIC_CLIENT_ID']) vi.stubEnv(name, '')
    expect(await chooseSettings(storage, 'x', {})).toMatchObject({ authUrl: settings.authUrl, scope: 'other' })
    vi.stubEnv('AGENT_AUTH_URL', second)
    vi.stubEnv('AGENT_BASE_URL', second)
    vi.stubEnv('AGENT_PUBLIC_CLIENT_ID', 'second')
    const chosen = await chooseSettings(storage, 'x', {})
    expect(chosen).toMatchObject({ authUrl: second, baseUrl: second, clientId: 'second' })
    const given = { 'auth-url': third, 'base-url': third, 'client-id': 'third', scope: 's', 'redirect-uri': 'r' }
    const expected = { authUrl: third, baseUrl: third, clientId: 'third', scope: 's', redirectUri: 'r' }
    expect(await chooseSettings(storage, 'x', given)).toEqual({ ...expected, clientSecretFile: undefined })
  })

  test('keep the secret file of the same client at the same service alone, by its whole path', async () => {
    const storage = memoryStorage()
    const file = join(freshFolder(), 'secret')
    const { clientSecretFile } = await chooseSettings(storage, 'x', {
      ...flags,
      'client-secret-file': relative(process.cwd(), file),
    })
    expect(clientSecretFile).toBe(file)
    await saveSettings(storage, 'x', { ...settings, clientSecretFile })
    const secretFor = async (change: object) =>
      (await chooseSettings(storage, 'x', { ...flags, ...change })).clientSecretFile
    expect(await secretFor({})).toBe(file)
    expect(await secretFor({ 'client-id': 'other' })).toBe(undefined)
    expect(await secretFor({ 'auth-url': 'https://other.example.com' })).toBe(undefined)
  })

  test('keep the ports of the same redirect URI, client and service alone', async () => {
    const storage = memoryStorage()
    const portsFor = async (change: object) => (await chooseSettings(storage, 'x', { ...flags, ...change })).ports
    expect(await portsFor({})).toBe(undefined)
    expect(await portsFor({ ports: '65535,0' })).toEqual([65_535, 0])
    await saveSettings(storage, 'x', { ...settings, ports: [3000] })
    expect((await openProfile(storage, 'x')).settings.ports).toEqual([3000])
    expect(await portsFor({ 'redirect-uri': settings.redirectUri })).toEqual([3000])
    expect(await portsFor({ 'auth-url': `${settings.authUrl}/` })).toEqual([3000])
    expect(await portsFor({ ports: '3001' })).toEqual([3001])
    expect(await portsFor({ 'redirect-uri': 'http://127.0.0.1/other' })).toBe(undefined)
    expect(await portsFor({ 'client-id': 'other' })).toBe(undefined)
    expect(await portsFor({ 'auth-url': 'https://other.example.com' })).toBe(undefined)
  })

  test('name a secret file that is not there, or is empty, and read one with any line end', async () => {
    const storage = memoryStorage()
    const file = join(freshFolder(), 'secret')
    const chosen = await chooseSettings(storage, 'x', { ...flags, 'client-secret-file': file })
    const opened = async () => readClientSecret(chosen, {})
    expect(await failure(opened())).toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('ENOENT'),
    })
    for (const text of ['a secret', 'a secret\n', 'a secret\r\n']) {
      writeFileSync(file, text, { mode: 0o600 })
      expect(await opened()).toBe('a secret')
    }
    writeFileSync(file, '\r\n')
    expect(await failure(opened())).toMatchObject({ code: 'config_invalid', message: expect.stringContaining('empty') })
    expect(profileOf(storage, 'x', chosen, 'without secret').settings).toBe(chosen)
  })

  test.each(['', '{"authUrl":'])('are not read from %j', async (text) => {
    const storage = memoryStorage()
    await storage.setItem('agent-auth:profile:x', text)
    expect(await failure(openProfile(storage, 'x'))).toMatchObject({ code: 'login_required' })
    expect(await chooseSettings(storage, 'x', flags)).toEqual(settings)
  })
})

describe('the session of an earlier login', () => {
  const config = createAuthConfig(settings)

  test('stays if the next login is of the same client at the same service', async () => {
    const storage = memoryStorage()
    expect(await replacedProfile(storage, 'x', config)).toBe(undefined)
    await saveSettings(storage, 'x', settings)
    expect(await replacedProfile(storage, 'x', config)).toBe(undefined)
  })

  test('is found if the next login is elsewhere, also without its secret file', async () => {
    const storage = memoryStorage()
    const earlier = { ...settings, clientId: 'earlier' }
    await profileOf(storage, 'x', earlier).session.signIn(tokensWith())
    await saveSettings(storage, 'x', { ...earlier, clientSecretFile: '/nowhere' })
    const replaced = await replacedProfile(storage, 'x', config)
    expect((await replaced?.session.ready())?.status).toBe('signed-in')
  })

  test('does not keep the user from a login if this version refuses its settings', async () => {
    const storage = memoryStorage()
    await saveSettings(storage, 'x', { ...settings, authUrl: 'ftp://x' })
    expect(await replacedProfile(storage, 'x', config)).toBe(undefined)
  })
})

describe('the storage', () => {
  test.each([
    [{ AGENT_AUTH_HOME: '/a', XDG_CONFIG_HOME: '/x', HOME: '/h' }, '/a/sessions.json'],
    [{ AGENT_AUTH_HOME: '', XDG_CONFIG_HOME: '/x', HOME: '/h' }, '/x/agent-auth/sessions.json'],
    [{ XDG_CONFIG_HOME: '', HOME: '/h' }, '/h/.config/agent-auth/sessions.json'],
    // Only Windows has a folder for settings there.
    [{ APPDATA: '/d', HOME: '/h' }, '/h/.config/agent-auth/sessions.json'],
  ])('of %j is at %s', (env, path) => {
    vi.stubEnv('HOME', env.HOME)
    expect(whereStorage(env)).toBe(`The storage is ${path}. AGENT_AUTH_HOME sets another folder.`)
  })

  test('half written has no profile, and is not removed by a look at it', async () => {
    const folder = process.env.AGENT_AUTH_HOME ?? ''
    mkdirSync(folder, { mode: 0o700 })
    const text = '{"v":1,"records":{"agent-auth:profile:x":"{'
    writeFileSync(join(folder, 'sessions.json'), text, { mode: 0o600 })
    const message = 'There is no profile x. Run agent-auth login.'
    expect(await failure(openProfile(openStorage(process.env), 'x'))).toMatchObject({ code: 'login_required', message })
    expect(readFileSync(join(folder, 'sessions.json'), 'utf8')).toBe(text)
  })

  test('of a newer version is named by doctor with its path, and no check of the service is made', async () => {
    const folder = process.env.AGENT_AUTH_HOME ?? ''
    mkdirSync(folder, { mode: 0o700 })
    writeFileSync(join(folder, 'sessions.json'), '{"v":2}', { mode: 0o600 })
    const result = await doctor({ name: 'doctor', profile: 'default', output: 'text', flags, rest: [] })
    expect(result.exitCode).toBe(1)
    expect(result.text).toMatch(
      /^problem {2}storage and lock: .* newer version .*\n {9}The storage is .*\/sessions\.json\./,
    )
    expect(result.text.split('\n')).toHaveLength(2)
  })

  test('that is right lets doctor say in text what is missing, and what it skipped', async () => {
    const line = { name: 'doctor', profile: 'default', output: 'text', rest: [] } as const
    const { text } = await doctor({ ...line, flags: {} })
    expect(text).toMatch(
      /^ok {7}storage and lock\nproblem {2}settings: .*\n {9}Pass the right --auth-url, --base-url and --client-id\.$/,
    )
    const away = 'http://127.0.0.1:1'
    const checked = await doctor({ ...line, flags: { ...flags, 'auth-url': away, 'base-url': away } })
    expect(checked.text).toContain('\nskipped  client (no authorization server)')
    expect(checked.exitCode).toBe(1)
  })
})
