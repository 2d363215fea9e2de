import { randomBytes } from 'node:crypto'
import { type EncryptionKey, encryptedStorage, memoryStorage, type TokenStorage } from 'agent-auth'
import { base64url, CompactEncrypt } from 'jose'
import { describe, expect, test } from 'vitest'
import { registerSecret, secret } from '../support/canary.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { flush } from '../support/virtual-time.ts'
import { storageSuite } from './storage-suite.ts'

const name = 'agent-auth:https%3A%2F%2Fauth.example.com:app:default'

function newKey(id: string): EncryptionKey {
  const key = new Uint8Array(randomBytes(32))
  registerSecret(`key ${id}`, base64url.encode(key))
  return { id, key }
}

storageSuite('encryptedStorage', () => {
  const inner = memoryStorage()
  const keys = [newKey('a')]
  return { handle: () => encryptedStorage(inner, { keys }) }
})

async function sealed(value = secret('record')) {
  const inner = memoryStorage()
  const key = newKey('a')
  const storage = encryptedStorage(inner, { keys: [key] })
  await storage.setItem(name, value)
  const text = (await inner.getItem(name)) ?? ''
  return { inner, key, storage, value, text, parts: text.split('.') }
}

describe('what is stored', () => {
  test('has the reach of the storage inside, so that a sign-out gets to other tabs', () => {
    const inner = { ...memoryStorage(), reach: 'tab' }
    expect(encryptedStorage(inner, { keys: [newKey('a')] })).toMatchObject({ reach: 'tab' })
  })

  test('is a JWE of AES-256-GCM whose header names key and place, without a trace of the value', async () => {
    const { text, value, parts } = await sealed()
    expect(JSON.parse(new TextDecoder().decode(base64url.decode(parts[0] ?? '')))).toEqual({
      alg: 'dir',
      enc: 'A256GCM',
      kid: 'a',
      ctx: name,
    })
    expect(parts.map((part) => base64url.decode(part).length).slice(1)).toEqual([0, 12, value.length, 16])
    for (let at = 0; at + 8 <= value.length; at++) expect(text).not.toContain(value.slice(at, at + 8))
  })

  test('has a fresh nonce at each write: 200 writes, 200 nonces', async () => {
    const { inner, storage, value } = await sealed()
    const nonces = new Set<string>()
    const texts = new Set<string>()
    for (let write = 0; write < 200; write++) {
      await storage.setItem(name, value)
      const text = (await inner.getItem(name)) ?? ''
      nonces.add(text.split('.')[2] ?? '')
      texts.add(text.split('.')[3] ?? '')
    }
    expect({ noncesCount: nonces.size, textsCount: texts.size }).toEqual({ noncesCount: 200, textsCount: 200 })
  })

  test('is refused after any change of any byte, and left alone', async () => {
    const { inner, storage, parts } = await sealed()
    let changes = 0
    for (const [index, part] of parts.entries()) {
      const bytes = base64url.decode(part)
      for (let at = 0; at < bytes.length; at++) {
        const altered = Uint8Array.from(bytes)
        altered[at] = (altered[at] ?? 0) ^ (1 << (at % 8))
        const text = parts.with(index, base64url.encode(altered)).join('.')
        await inner.setItem(name, text)
        expect(await codeOf(Promise.resolve(storage.getItem(name)))).toBe('storage_failed')
        expect(await inner.getItem(name)).toBe(text)
        changes += 1
      }
    }
    expect(changes).toBeGreaterThan(150)
  })

  test('is refused under another name: records of two clients cannot be swapped', async () => {
    const { inner, storage, text } = await sealed()
    const other = name.replace(':app:', ':other:')
    await inner.setItem(other, text)
    expect(await codeOf(Promise.resolve(storage.getItem(other)))).toBe('storage_failed')
    expect(await inner.getItem(other)).toBe(text)
  })

  const header = { alg: 'dir', enc: 'A256GCM', kid: 'a', ctx: name }
  const forged = (key: Uint8Array, changes: object = {}): Promise<string> =>
    new CompactEncrypt(new TextEncoder().encode('x')).setProtectedHeader({ ...header, ...changes }).encrypt(key)
  const forgeries: readonly (readonly [string, (key: Uint8Array) => Promise<string>])[] = [
    ['without a place', (key) => forged(key, { ctx: undefined })],
    ['with another cipher', () => forged(new Uint8Array(16), { enc: 'A128GCM' })],
    ['with a cipher of the same key length', (key) => forged(key, { enc: 'A128CBC-HS256' })],
    ['with a wrapped key', (key) => forged(key, { alg: 'A256GCMKW' })],
    ['of an unknown key id', (key) => forged(key, { kid: 'b' })],
    ['without a key id', (key) => forged(key, { kid: undefined })],
    ['of another key of the same id', () => forged(new Uint8Array(32))],
    ['that is compressed', (key) => forged(key, { zip: 'DEF' })],
    ['that is plain text', async () => '{"v":1}'],
    ['that is empty', async () => ''],
    ['with too few parts', async () => 'a.b.c'],
  ]

  test.each(forgeries)('one %s is refused', async (_, forge) => {
    const { inner, key, storage } = await sealed()
    await inner.setItem(name, await forge(key.key as Uint8Array))
    expect(await codeOf(Promise.resolve(storage.getItem(name)))).toBe('storage_failed')
  })
})

describe('keys', () => {
  const short = new Uint8Array(31)
  const good = new Uint8Array(32)
  const unfit: readonly (readonly [string, EncryptionKey[]])[] = [
    ['none', []],
    ['31 bytes', [{ id: 'a', key: short }]],
    ['text that is not base64url', [{ id: 'a', key: '***' }]],
    [
      'two of one id',
      [
        { id: 'a', key: good },
        { id: 'a', key: good },
      ],
    ],
  ]

  test.each(unfit)('config_invalid at once: %s', async (_, keys) => {
    const made = (async () => encryptedStorage(memoryStorage(), { keys }))()
    expect(await codeOf(made)).toBe('config_invalid')
  })

  test.each<[string, unknown, unknown]>([
    ['storage', {}, { keys: [] }],
    ['encryptedStorage', memoryStorage(), undefined],
    ['keys', memoryStorage(), {}],
  ])('a call without %s says so', (name, inner, options) => {
    const wrong = (): unknown => encryptedStorage(inner as TokenStorage, options as { keys: EncryptionKey[] })
    expect(wrong).toThrow(
      expect.objectContaining({ code: 'config_invalid', message: expect.stringMatching(`^Configuration: ${name} `) }),
    )
  })

  test('bytes, their base64url text and their base64 text are the same key', async () => {
    // All six bits set, or all but the last: the two signs in which the alphabets differ.
    const key = new Uint8Array(32).fill(0xfb).fill(0xff, 16)
    const base64 = Buffer.from(key).toString('base64')
    expect(base64).toMatch(/\+.*\/.*=$/)
    const inner = memoryStorage()
    await encryptedStorage(inner, { keys: [{ id: 'a', key }] }).setItem(name, 'x')
    for (const text of [base64url.encode(key), base64])
      expect(await encryptedStorage(inner, { keys: [{ id: 'a', key: text }] }).getItem(name)).toBe('x')
  })

  test('an old key opens, and the next write seals with the newest', async () => {
    const { inner, key, value } = await sealed()
    const next = newKey('b')
    const rotated = encryptedStorage(inner, { keys: [next, key] })
    expect(await rotated.getItem(name)).toBe(value)
    await rotated.setItem(name, value)
    expect(await encryptedStorage(inner, { keys: [next] }).getItem(name)).toBe(value)
    expect(await codeOf(Promise.resolve(encryptedStorage(inner, { keys: [key] }).getItem(name)))).toBe('storage_failed')
  })
})

describe('under a session', () => {
  const signedIn = async (keys: EncryptionKey[]) => {
    const rig = sessionRig()
    const records = sharedRecords()
    const storage = (by: EncryptionKey[]): TokenStorage => encryptedStorage(records.handle(), { keys: by })
    const tokens = rig.service.issue()
    await rig.realm({ storage: storage(keys) }).session.signIn(tokens)
    const stored = (): string => [...records.items.values()][0] ?? ''
    return { ...rig, records, storage, tokens, stored }
  }

  test('a wrong key: typed, never signed out, and the record is untouched', async () => {
    const { realm, storage, stored, tokens, service } = await signedIn([newKey('a')])
    const before = stored()
    for (const id of ['a', 'b']) {
      const { session, events } = realm({ storage: storage([newKey(id)]) })
      expect(await codeOf(session.getAccessToken())).toBe('storage_failed')
      expect(await codeOf(session.ready())).toBe('storage_failed')
      await flush()
      expect(session.state).toEqual({ status: 'loading' })
      expect(events).toEqual([])
      expect(stored()).toBe(before)
    }
    expect(service.sent).toHaveLength(0)
    expect(tokens.accessToken).toBeDefined()
  })

  test('an explicit sign-in replaces what no key opens, an explicit sign-out removes it', async () => {
    const { records, realm, storage, service } = await signedIn([newKey('a')])
    const keys = [newKey('b')]
    const { session } = realm({ storage: storage(keys) })
    const next = service.issue()
    await session.signIn(next)
    expect(await realm({ storage: storage(keys) }).session.getAccessToken()).toBe(next.accessToken)
    await realm({ storage: storage([newKey('c')]) }).session.signOut()
    expect(records.items.size).toBe(0)
  })
})
