import { expect, onTestFinished, test } from 'vitest'
import { createPasswords } from '../../src/credentials/passwords.ts'
import { personOf } from '../support/login.ts'
import { createService } from '../support/start.ts'

test('passwords are scrypt with N=2^17, r=8, p=1 and a salt, and taken as they are', async () => {
  const passwords = createPasswords({ scheme: 'scrypt', key: new Uint8Array(32) })
  const long = ` ${'p'.repeat(1_022)} `
  const stored = await passwords.hash(long)
  expect(stored).toMatch(/^scrypt\$131072\$8\$1\$[A-Za-z0-9_-]{22}\$[A-Za-z0-9_-]{43}$/)
  expect(await passwords.verify(long, stored)).toBe('match')
  expect(await passwords.verify(long.trim(), stored)).toBe('mismatch')
  expect(stored).not.toBe(await passwords.hash(long))
})

test('only what is 256 random bits gets a quick hash, and only in memory', async () => {
  const memory = createPasswords({ scheme: 'keyed', key: new Uint8Array(32) })
  const file = createPasswords({ scheme: 'scrypt', key: new Uint8Array(32) })
  const service = await createService()
  onTestFinished(() => service.close())
  const { password } = personOf(service, 'ada')
  expect(await memory.hash(password)).toMatch(/^hmac-sha256\$/)
  expect(await memory.hash('correct horse battery staple')).toMatch(/^scrypt\$131072\$8\$1\$/)
  expect(await file.hash(password)).toMatch(/^scrypt\$131072\$8\$1\$/)
  expect(file.isCurrent(await memory.hash(password))).toBe(false)
  for (const { password: made } of service.people) expect(made).toMatch(/^[A-Za-z0-9_-]{43}$/)
})
