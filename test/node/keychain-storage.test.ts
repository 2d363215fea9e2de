import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createSession } from 'agent-auth'
import { fileStorage, type Keyring, type KeyringEntry, keychainStorage } from 'agent-auth/node'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { storageSuite } from '../storage/storage-suite.ts'
import { freshFile } from '../support/fresh-file.ts'
import { isThere } from '../support/programs.ts'
import { type SecretService, startSecretService } from '../support/secret-service.ts'
import { sessionRig } from '../support/session-rig.ts'
import { failure, tokensWith } from '../support/token-flow.ts'

interface TestKeyring {
  /** For `keychainStorage`. */
  readonly load: () => Promise<Keyring>
  /** The texts of the entries, by service and account. */
  readonly entries: Map<string, string>
  /** `unreadable`: a user who refuses a read, or a slow start, may still let the next write through. */
  state: 'open' | 'locked' | 'unreadable'
}

/** A keychain in memory, for what a real one does only with a desktop. */
function testKeyring(state: TestKeyring['state'] = 'open'): TestKeyring {
  const entries = new Map<string, string>()
  const keyring: TestKeyring = { entries, state, load: async () => ({ AsyncEntry: Entry }) }
  let calls = 0
  const check = async (): Promise<void> => {
    // Calls take different times, so that those of other processes come in between.
    for (let turns = ++calls % 5; turns > 0; turns--) await nextTurn()
    if (keyring.state === 'locked') throw new Error(`locked: ${[...entries.values()]}`)
  }
  class Entry implements KeyringEntry {
    readonly #id: string
    constructor(service: string, account: string) {
      this.#id = `${service} ${account}`
    }
    async getPassword(): Promise<string | null> {
      await check()
      if (keyring.state === 'unreadable') throw new Error('The read was refused.')
      return entries.get(this.#id) ?? null
    }
    async setPassword(text: string): Promise<void> {
      await check()
      entries.set(this.#id, text)
    }
  }
  return keyring
}

/** A file, and processes that use it with this keychain. */
function shared(keyring: TestKeyring, withoutKeychain?: 'plain' | 'reject') {
  const path = freshFile(onTestFinished)
  const handle = () => keychainStorage(path, { keyring: keyring.load, name: 'my-tool', withoutKeychain })
  return { path, handle, text: () => readFileSync(path, 'utf8') }
}

const refused = { code: 'storage_failed', retryable: true }

function suiteOver(title: string, load: () => Promise<Keyring>): void {
  storageSuite(title, () => {
    const ends: (() => void | Promise<void>)[] = []
    const path = freshFile((end) => ends.push(end))
    return {
      handle: () => keychainStorage(path, { keyring: load, name: `agent-auth test ${path}` }),
      async close() {
        for (const end of ends) await end()
      },
    }
  })
}

const realKeyring = (): Promise<Keyring> => import('@napi-rs/keyring')

suiteOver('keychainStorage without a keychain', testKeyring('locked').load)
if (!isThere('keychain')) suiteOver('keychainStorage with a keychain in memory', testKeyring().load)

describe('with the Secret Service of Linux', { tags: ['keychain'] }, () => {
  let service: SecretService | undefined
  beforeAll(async () => {
    service = await startSecretService()
    for (const [name, value] of Object.entries(service.env)) vi.stubEnv(name, value)
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    await service?.stop()
  })

  suiteOver('keychainStorage', realKeyring)

  test('keeps the key in the keychain and encrypted records in the file, for the next process as well', async () => {
    const path = freshFile(onTestFinished)
    const options = { keyring: realKeyring, name: 'my-tool' }
    await keychainStorage(path, options).setItem('key', 'a record')
    expect(readFileSync(path, 'utf8')).not.toContain('a record')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    const next = keychainStorage(path, options)
    expect({ record: await next.getItem('key'), protection: await next.protection() }).toEqual({
      record: 'a record',
      protection: 'keychain',
    })
    const { AsyncEntry } = await realKeyring()
    const linux = { store: 'secret-service' } as const
    const text = await new AsyncEntry('my-tool', `agent-auth session key of ${path}`, {
      linux,
    }).getPassword()
    expect(text).toMatch(/^[\w-]{43}$/)
    expect(readFileSync(path, 'utf8')).not.toContain(text)
  })
})

test.runIf(process.platform === 'linux')(
  'a machine without a session bus keeps records as fileStorage does',
  async () => {
    vi.stubEnv('DBUS_SESSION_BUS_ADDRESS', 'unix:path=/nowhere/bus')
    onTestFinished(() => void vi.unstubAllEnvs())
    const path = freshFile(onTestFinished)
    const storage = keychainStorage(path, { keyring: realKeyring, name: 'my-tool' })
    await storage.setItem('key', 'a record')
    expect(await storage.protection()).toBe('plain')
    expect(await fileStorage(path).getItem('key')).toBe('a record')
  },
)

describe('a keychain that comes and goes', () => {
  test('a locked keychain replaces no encrypted record by a plain one, and a removal needs no key', async () => {
    const keyring = testKeyring()
    const { handle, text } = shared(keyring)
    await handle().setItem('key', 'first')
    const before = text()
    keyring.state = 'locked'
    const locked = handle()
    expect(await failure(locked.getItem('key'))).toMatchObject(refused)
    expect(await failure(locked.setItem('key', 'second'))).toMatchObject(refused)
    expect(text()).toBe(before)
    keyring.state = 'open'
    expect(await locked.getItem('key')).toBe('first')
    keyring.state = 'locked'
    const third = handle()
    await third.removeItem('key')
    await third.setItem('key', 'third')
    expect({ record: await third.getItem('key'), protection: await third.protection() }).toEqual({
      record: 'third',
      protection: 'plain',
    })
  })

  test('a keychain that refuses only reads keeps its key, with which no plain record is read', async () => {
    const keyring = testKeyring()
    const { handle } = shared(keyring, 'plain')
    await handle().setItem('key', 'first')
    const before = [...keyring.entries]
    keyring.state = 'unreadable'
    const refusing = handle()
    expect(await refusing.protection()).toBe('plain')
    expect(await failure(refusing.setItem('key', 'second'))).toMatchObject(refused)
    await refusing.setItem('another key', 'plain')
    expect([...keyring.entries]).toEqual(before)
    keyring.state = 'open'
    expect(await handle().getItem('key')).toBe('first')
    const message = expect.stringContaining('not encrypted')
    expect(await failure(handle().getItem('another key'))).toMatchObject({ code: 'storage_failed', message })
    await handle().setItem('another key', 'by a sign-in')
    expect(await handle().getItem('another key')).toBe('by a sign-in')
  })

  test('records of fileStorage are read, and encrypted at the next write', async () => {
    const { path, handle, text } = shared(testKeyring())
    await fileStorage(path).setItem('key', 'a record')
    expect(await handle().getItem('key')).toBe('a record')
    await handle().setItem('key', 'a record')
    expect(text()).not.toContain('a record')
    expect(await handle().getItem('key')).toBe('a record')
  })

  test('ready() rejects if the file cannot be read, although the keychain can', async () => {
    const { path, handle } = shared(testKeyring())
    await handle().setItem('key', 'a record')
    writeFileSync(path, '{"v":2}')
    const message = expect.stringContaining('newer version')
    expect(await failure(handle().ready())).toMatchObject({ code: 'storage_failed', retryable: false, message })
  })

  test('a record that another version of the library encrypted is read', async () => {
    const keyring = testKeyring()
    const { path, handle } = shared(keyring)
    const header = 'eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIiwia2lkIjoia2V5Y2hhaW4iLCJjdHgiOiJrZXkifQ'
    await fileStorage(path).setItem('key', `keychain:${header}..olIrvqWP0DKq0TPU.HjeAOLcMxrQ.xYYiMkzzcYuaK9c6eWArtA`)
    keyring.entries.set(`my-tool agent-auth session key of ${path}`, `${'A'.repeat(42)}E`)
    expect(await handle().getItem('key')).toBe('a record')
  })

  test('reject refuses to write without a keychain, and reads nothing less', async () => {
    const { path, handle } = shared(testKeyring('locked'), 'reject')
    await fileStorage(path).setItem('key', 'a record')
    const storage = handle()
    for (const call of [() => storage.setItem('key', 'x'), () => storage.ready(), () => storage.protection()])
      expect(await failure(call)).toMatchObject(refused)
    expect(await handle().getItem('key')).toBe('a record')
  })

  test('the first writes of several processes at once create one key', async () => {
    const keyring = testKeyring()
    const { handle, text } = shared(keyring)
    await Promise.all(Array.from({ length: 8 }, (_, at) => handle().setItem(`key ${at}`, `value ${at}`)))
    const reader = handle()
    for (let at = 0; at < 8; at++) expect(await reader.getItem(`key ${at}`)).toBe(`value ${at}`)
    expect({ keys: keyring.entries.size, text: text() }).toEqual({
      keys: 1,
      text: expect.not.stringContaining('value '),
    })
  })

  test('two files under one name have a key each, so that neither replaces the key of the other', async () => {
    const keyring = testKeyring()
    const files = Array.from({ length: 8 }, () => shared(keyring))
    await Promise.all(files.map(({ handle }, at) => handle().setItem('key', `value ${at}`)))
    for (const [at, { handle }] of files.entries()) expect(await handle().getItem('key')).toBe(`value ${at}`)
    expect(keyring.entries.size).toBe(files.length)
  })

  test('a file has one key by its absolute and its relative path', async () => {
    const keyring = testKeyring()
    const { path, handle } = shared(keyring)
    await handle().setItem('key', 'a record')
    const other = keychainStorage(relative(process.cwd(), path), { keyring: keyring.load, name: 'my-tool' })
    expect(await other.getItem('key')).toBe('a record')
    expect([...keyring.entries.keys()]).toEqual([`my-tool agent-auth session key of ${path}`])
  })

  test('a record whose key is gone is refused and stays, and a sign-in replaces it', async () => {
    const keyring = testKeyring()
    const { handle, text } = shared(keyring)
    const { config } = sessionRig().realm()
    await createSession(config, { storage: handle() }).signIn(tokensWith())
    keyring.entries.clear()
    const before = text()
    const session = createSession(config, { storage: handle() })
    expect(await failure(session.ready())).toMatchObject({ code: 'storage_failed' })
    expect(text()).toBe(before)
    const tokens = tokensWith({ accessToken: 'of-the-next-sign-in' })
    await session.signIn(tokens)
    const next = createSession(config, { storage: handle() })
    expect(await next.getAccessToken()).toBe('of-the-next-sign-in')
  })

  test('no error quotes what the keychain holds or says', async () => {
    const keyring = testKeyring()
    const { handle } = shared(keyring)
    await handle().setItem('key', 'a record')
    const [id = '', text = ''] = [...keyring.entries][0] ?? []
    keyring.state = 'locked'
    const locked = await failure(handle().getItem('key'))
    keyring.state = 'open'
    keyring.entries.set(id, 'a text of another program')
    const foreign = await failure(handle().getItem('key'))
    const message = expect.stringContaining('Remove the entry, or choose another name')
    expect(foreign).toMatchObject({ code: 'storage_failed', retryable: false, message })
    keyring.entries.set(id, 'A'.repeat(43))
    const wrong = await failure(handle().getItem('key'))
    for (const { message, cause, stack } of [locked, foreign, wrong])
      expect(`${message} ${cause} ${stack}`).not.toMatch(new RegExp(`${text}|of another program|A{43}|locked:`))
  })
})

describe('a wrong call', () => {
  const missing = Object.assign(new Error('not found'), { code: 'ERR_MODULE_NOT_FOUND' })

  test.each([
    ['no keyring', { name: 'my-tool' }, /keyring must be a function/],
    ['no name', { keyring: testKeyring().load, name: '' }, /name must be the name of your tool/],
    ['another policy', { keyring: testKeyring().load, name: 'x', withoutKeychain: 'memory' }, /withoutKeychain/],
  ])('%s is refused', async (_, options, message) => {
    const error = await failure(() => keychainStorage(freshFile(onTestFinished), options as never))
    expect({ code: error.code, message: error.message }).toEqual({
      code: 'config_invalid',
      message: expect.stringMatching(message),
    })
  })

  test('a package that is not installed is named by ready() and at a sign-in', async () => {
    const path = freshFile(onTestFinished)
    const storage = keychainStorage(path, { keyring: () => Promise.reject(missing), name: 'my-tool' })
    const { session } = sessionRig().realm({ storage })
    const refusal = { code: 'config_invalid', message: expect.stringContaining('Install @napi-rs/keyring') }
    expect(await failure(storage.ready())).toMatchObject(refusal)
    expect(await failure(session.signIn(tokensWith()))).toMatchObject(refusal)
  })

  test('a package without a program for this platform is no keychain', async () => {
    const path = freshFile(onTestFinished)
    const load = () => Promise.reject(new Error('Cannot find native binding'))
    expect(await keychainStorage(path, { keyring: load, name: 'my-tool' }).protection()).toBe('plain')
  })
})
