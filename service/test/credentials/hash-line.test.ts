import { setImmediate } from 'node:timers/promises'
import { beforeEach, expect, test } from 'vitest'
import type { AttemptPlace } from '../../src/credentials/hash-line.ts'
import type { Passwords } from '../../src/credentials/passwords.ts'
import { createPasswords } from '../../src/credentials/passwords.ts'

/** Hashes that end when the test says so, in the order in which they began. */
let running: { password: string; end(): void }[]
let begun: string[]
let passwords: Passwords
let stored: string
beforeEach(async () => {
  running = []
  begun = []
  passwords = createPasswords({
    scheme: 'scrypt',
    key: new Uint8Array(32),
    derive: (password) =>
      new Promise((resolve) => {
        begun.push(password)
        running.push({ password, end: () => resolve(`hash of ${password}`) })
      }),
  })
  const hashing = passwords.hash('right-password')
  await endOne()
  stored = await hashing
  begun.length = 0
})

async function endOne(): Promise<void> {
  await setImmediate()
  running.shift()?.end()
  await setImmediate()
}

/** One attempt at each of so many accounts. */
function attempts(count: number, lane: AttemptPlace['lane'] = 'stranger'): Promise<string>[] {
  return Array.from({ length: count }, (_, index) => {
    const password = `${lane} ${index}`
    return passwords.verify(password, undefined, { lane, account: password })
  })
}

test('two slow hashes run at once, thirty-two attempts wait, and the next are busy without a hash', async () => {
  const all = attempts(120)
  await setImmediate()
  expect(begun).toHaveLength(2)
  const refused = all.slice(34)
  expect(new Set(await Promise.all(refused))).toEqual(new Set(['busy']))
  expect(begun).toHaveLength(2)
  for (let ended = 0; ended < 34; ended += 1) {
    expect(running.length).toBeLessThanOrEqual(2)
    await endOne()
  }
  expect(new Set(await Promise.all(all.slice(0, 34)))).toEqual(new Set(['mismatch']))
  expect(begun).toHaveLength(34)
  const again = passwords.verify('right-password', stored, { lane: 'stranger', account: 'the last' })
  await endOne()
  expect(await again).toBe('match')
})

test('an account that exists waits in the same line as one that does not', async () => {
  const all = attempts(34)
  const known = passwords.verify('wrong-password', stored, { lane: 'stranger', account: 'the last' })
  expect({ known: await known, begunCount: begun.length }).toEqual({ known: 'busy', begunCount: 2 })
  while (running.length > 0) await endOne()
  await Promise.all(all)
})

test('browsers that signed in before have a line of their own, and go first where one of them runs at most', async () => {
  const strangers = attempts(40)
  const known = attempts(33, 'device')
  expect(await known.at(-1)).toBe('busy')
  const renewed = passwords.hash('a-new-password')
  while (running.length > 0) await endOne()
  await Promise.all([...strangers, ...known, renewed])
  expect(begun.slice(0, 3)).toEqual(['stranger 0', 'stranger 1', 'a-new-password'])
  expect(begun.slice(3, 7)).toEqual(['device 0', 'stranger 2', 'device 1', 'stranger 3'])
})

test('browsers of two accounts that try without a pause leave every other turn to strangers', async () => {
  const known = ['first', 'second'].flatMap((account) =>
    [0, 1, 2, 3, 4].map((turn) => passwords.verify(`${account} ${turn}`, undefined, { lane: 'device', account })),
  )
  await setImmediate()
  expect(begun).toEqual(['first 0', 'second 0'])
  const strangers = attempts(3)
  await endOne()
  expect(begun.slice(2)).toEqual(['stranger 0'])
  while (running.length > 0) await endOne()
  await Promise.all([...known, ...strangers])
  expect(begun.filter((password) => password.startsWith('stranger')).length).toBe(3)
  expect(begun.indexOf('stranger 2')).toBeLessThan(8)
})

test('what waits is dropped at the end, and nothing waits any more', async () => {
  const all = [...attempts(10), ...attempts(10, 'device')]
  await setImmediate()
  passwords.refuseWaiting()
  expect(new Set(await Promise.all(all.slice(2)))).toEqual(new Set(['busy']))
  expect(await passwords.verify('late', undefined, { lane: 'device', account: 'late' })).toBe('busy')
  while (running.length > 0) await endOne()
  expect(new Set(await Promise.all(all.slice(0, 2)))).toEqual(new Set(['mismatch']))
  expect(begun).toHaveLength(2)
})

test('a hash that fails gives its turn on', async () => {
  let failures = 0
  const failing = createPasswords({
    scheme: 'scrypt',
    key: new Uint8Array(32),
    derive: async () => {
      failures += 1
      throw new Error('out of memory')
    },
  })
  const results = await Promise.allSettled(
    ['a', 'b', 'c', 'd', 'e', 'e'].map((account) => failing.verify('a', undefined, { lane: 'stranger', account })),
  )
  expect({ failures, statuses: [...new Set(results.map(({ status }) => status))] }).toEqual({
    failures: 6,
    statuses: ['rejected'],
  })
})

test.each(['device', 'stranger'] as const)(
  'of one account one %s attempt is hashed at a time and four wait, so that others get their turn beside it',
  async (lane) => {
    const same = Array.from({ length: 40 }, (_, index) =>
      passwords.verify(`same ${index}`, undefined, { lane, account: 'same' }),
    )
    await setImmediate()
    expect(begun).toEqual(['same 0'])
    expect(new Set(await Promise.all(same.slice(5)))).toEqual(new Set(['busy']))
    const others = [...attempts(1, 'stranger'), ...attempts(1, 'device')]
    await setImmediate()
    expect(begun).toEqual(['same 0', 'stranger 0'])
    while (running.length > 0) await endOne()
    expect(new Set(await Promise.all([...same.slice(0, 5), ...others]))).toEqual(new Set(['mismatch']))
    expect(begun.filter((password) => password.startsWith('same'))).toEqual([0, 1, 2, 3, 4].map((n) => `same ${n}`))
  },
)

test('strangers who try an account keep none of its own browsers waiting', async () => {
  const stranger = passwords.verify('of a stranger', undefined, { lane: 'stranger', account: 'same' })
  const own = passwords.verify('of the owner', undefined, { lane: 'device', account: 'same' })
  await setImmediate()
  expect(begun).toEqual(['of a stranger', 'of the owner'])
  while (running.length > 0) await endOne()
  await Promise.all([stranger, own])
})

test('once the line is dropped, no attempt begins a hash although none runs', async () => {
  passwords.refuseWaiting()
  expect(await passwords.verify('late', undefined, { lane: 'device', account: 'late' })).toBe('busy')
  expect(begun).toEqual([])
})
