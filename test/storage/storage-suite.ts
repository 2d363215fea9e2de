import type { MaybePromise } from 'agent-auth'
import { type StorageSuiteOptions, type StorageUnderTest, storageSuite as suite } from 'agent-auth/testing'
import { describe, expect, test } from 'vitest'

export type { StorageUnderTest } from 'agent-auth/testing'

const key = 'agent-auth:https%3A%2F%2Fauth.example.com:app:default'

/** A case ends before its test does, and a machine may have ten times as much to do. */
const limitMs = 150_000

/** The contract every storage is held to, as tests; ours keep any text under any key, beyond what the contract asks. */
export function storageSuite(
  name: string,
  open: () => MaybePromise<StorageUnderTest>,
  options: StorageSuiteOptions = {},
): void {
  describe(`${name} as a storage`, () => {
    for (const { name: promise, run } of suite(open, { limitMs, ...options })) test(`${promise}`, run)

    const texts = ['', 'null', '"\\\u0000\n', 'Grüße 🔑 \u2028', '{"v":1,"pad":"x"}'.repeat(4_096)]
    test.each(texts.map((text) => [text.slice(0, 20), text]))('gives back %j exactly', async (_, text) => {
      await using(open, async (subject) => {
        await (await subject.handle()).setItem(key, text)
        expect(await (await subject.handle()).getItem(key)).toBe(text)
      })
    })

    test('an absent record is null, as in Web Storage', async () => {
      await using(open, async (subject) => {
        expect(await (await subject.handle()).getItem(key)).toBeNull()
      })
    })

    test('a call for the lock rejects with the reason of its signal', async () => {
      await using(open, async (subject) => {
        const [holder, waiter] = [await subject.handle(), await subject.handle()]
        const before = new Error('before')
        const reason = new Error('left the page')
        const task = async (): Promise<never> => expect.unreachable('it ran')
        await expect(waiter.withLock?.(key, task, { signal: AbortSignal.abort(before) })).rejects.toBe(before)
        await holder.withLock?.(key, async () => {
          const stop = new AbortController()
          const waiting = waiter.withLock?.(key, task, { signal: stop.signal })
          setTimeout(() => stop.abort(reason), 20)
          await expect(waiting).rejects.toBe(reason)
        })
      })
    })

    test('keys may look like paths, members or each other', async () => {
      await using(open, async (subject) => {
        const storage = await subject.handle()
        const keys = [
          key,
          `${key}2`,
          `${key}:x`,
          '__proto__',
          'constructor',
          '../x',
          'a/b',
          'a b',
          'é',
          'a{b}c',
          'a\\b',
        ]
        for (const [index, each] of keys.entries()) await storage.setItem(each, `value ${index}`)
        for (const [index, each] of keys.entries()) expect(await storage.getItem(each)).toBe(`value ${index}`)
        await storage.removeItem(key)
        expect(await storage.getItem(`${key}2`)).toBe('value 1')
      })
    })
  })
}

async function using(
  open: () => MaybePromise<StorageUnderTest>,
  task: (subject: StorageUnderTest) => Promise<void>,
): Promise<void> {
  const subject = await open()
  try {
    await task(subject)
  } finally {
    await subject.close?.()
  }
}
