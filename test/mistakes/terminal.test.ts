import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { UsageError } from '../../src/command/command-line.ts'
import { doctor } from '../../src/command/doctor.ts'
import { fetchPath } from '../../src/command/fetch.ts'
import { fileStorage } from '../../src/node/file-storage.ts'
import { keychainStorage } from '../../src/node/keychain-storage.ts'
import { signInWithLoopback } from '../../src/node/loopback/sign-in.ts'
import { configWith, failure } from '../support/token-flow.ts'
import { invalid } from '../support/wrong-calls.ts'

// Mistakes of a program or a user at the terminal. Each message says what to write.

const line = { profile: 'default', output: 'text', flags: {}, rest: [] } as const
const untyped = (value: unknown): never => value as never

describe('storages in a file', () => {
  it.each(['~/x.json', '$HOME/x.json', `$${'{HOME}'}/x.json`, '%APPDATA%\\x.json'])(
    'fileStorage refuses %s, which would be a folder of this name',
    async (path) => {
      expect(await failure(() => fileStorage(path))).toMatchObject(
        invalid('path must not begin with ~ or a variable, which only a shell replaces. Use os.homedir()'),
      )
    },
  )

  it('fileStorage refuses a URL', async () => {
    const url = pathToFileURL(join(tmpdir(), 'x.json'))
    expect(await failure(() => fileStorage(untyped(url)))).toMatchObject(
      invalid('path must be a string that names a file'),
    )
  })

  it.each([{ encryptionKey: 'k' }, { mode: 0o600 }, 'utf8', null])(
    'fileStorage refuses the options %j, which would have no effect',
    async (options) => {
      const call = fileStorage as (path: string, options: unknown) => unknown
      expect(await failure(() => call('x.json', options))).toMatchObject({ code: 'config_invalid' })
      expect(() => call('x.json', undefined)).not.toThrow()
    },
  )

  it.each([undefined, {}, { default: {} }])(
    'a function for the keyring that returns %o stores nothing and says what to return',
    async (returned) => {
      const folder = mkdtempSync(join(tmpdir(), 'agent-auth-'))
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
      const keyring = untyped(async () => returned)
      const storage = keychainStorage(join(folder, 'x.json'), { name: 'my-tool', keyring })
      const expected = invalid(
        "keyring must return the package: () => import('@napi-rs/keyring'), version 2.1 or later",
      )
      expect(await failure(storage.setItem('a', 'b'))).toMatchObject(expected)
      expect(await storage.getItem('a')).toBe(null)
    },
  )
})

it('signInWithLoopback lists params for an authorize parameter among its options', async () => {
  const config = configWith({ redirectUri: 'http://127.0.0.1/callback' })
  expect(await failure(signInWithLoopback(config, untyped({ prompt: 'login' })))).toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(/^Configuration: prompt is not an option of signInWithLoopback, .*params/),
  })
})

it.each(['127.0.0.1:5173', 'http://127.0.0.1:5173/', 'http://127.0.0.1:5173/app', 'localhost', 'null'])(
  'doctor refuses %s as the origin of a page and sends nothing',
  async (origin) => {
    const error = await doctor({ ...line, name: 'doctor', flags: { origin } }).catch((reason) => reason)
    expect(error).toBeInstanceOf(UsageError)
    expect(error.message).toBe('--origin takes the origin of a page, such as http://127.0.0.1:5173, without a path')
  },
)

it('fetch says how a file becomes the body, as curl has another way', async () => {
  const rest = ['POST', '/api/x', '@body.json']
  const error = await fetchPath({ ...line, name: 'fetch', rest }).catch((reason) => reason)
  expect(error).toBeInstanceOf(UsageError)
  expect(error.message).toBe('BODY is no file: write - as BODY, and < FILE after it')
})
