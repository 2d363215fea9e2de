import { setImmediate } from 'node:timers/promises'
import { beforeEach, expect, test } from 'vitest'
import { createHashLine, type HashLine } from '../../src/credentials/passwords.ts'

/** Hashes that end when the test says so, in the order in which they began. */
let ends: (() => void)[]
let begun: string[]
let line: HashLine
beforeEach(() => {
  ends = []
  begun = []
  line = createHashLine(2)
})

function hash(name: string, kind: 'kept' | 'attempt' = 'attempt'): Promise<string> {
  return line.run(kind, () => {
    begun.push(name)
    return new Promise((resolve) => ends.push(() => resolve(name)))
  })
}

async function endAll(): Promise<void> {
  for (await setImmediate(); ends.length > 0; await setImmediate()) ends.shift()?.()
}

test('two hashes run at once, thirty-two attempts wait in their order, and the next are busy without a hash', async () => {
  const names = Array.from({ length: 120 }, (_, index) => `attempt ${index}`)
  const all = names.map((name) => hash(name))
  expect(new Set(await Promise.all(all.slice(34)))).toEqual(new Set(['busy']))
  expect(begun).toEqual(names.slice(0, 2))
  await endAll()
  expect(await Promise.all(all.slice(0, 34))).toEqual(names.slice(0, 34))
  expect(begun).toEqual(names.slice(0, 34))
})

test('a hash that the service stores is never refused', async () => {
  const attempts = Array.from({ length: 34 }, (_, index) => hash(`attempt ${index}`))
  const stored = hash('stored', 'kept')
  line.refuseWaiting()
  await endAll()
  expect(await stored).toBe('stored')
  expect((await Promise.all(attempts)).filter((result) => result === 'busy')).toHaveLength(32)
})

test('after the end no attempt begins', async () => {
  line.refuseWaiting()
  expect(await hash('late')).toBe('busy')
  expect(begun).toEqual([])
})

test('a hash that fails gives its turn on', async () => {
  const fail = () => line.run('attempt', () => Promise.reject(new Error('out of memory')))
  const results = await Promise.allSettled(Array.from({ length: 6 }, fail))
  expect(results.map(({ status }) => status)).toEqual(Array(6).fill('rejected'))
  const next = hash('next')
  await endAll()
  expect(await next).toBe('next')
})
