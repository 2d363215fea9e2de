import type { MaybePromise, TokenStorage } from 'agent-auth'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { codeOf, sessionRig } from './support/session-rig.ts'
import { flush } from './support/virtual-time.ts'

/** One empty set of records and the ways to it. */
export interface StorageUnderTest {
  /** A handle on the same records, as another tab, process or machine has it; where there are none, the same object. */
  handle(): MaybePromise<TokenStorage>
  close?(): MaybePromise<void>
}

const hour = 3_600_000
const key = 'agent-auth:https%3A%2F%2Fauth.example.com:app:default'

/** The contract of a storage: what every one in this package must pass, and any of a user's own can be held to. */
export function storageSuite(name: string, open: () => MaybePromise<StorageUnderTest>): void {
  describe(`${name} as a storage`, () => {
    let subject: StorageUnderTest
    beforeEach(async () => {
      subject = await open()
    })
    afterEach(() => subject.close?.())
    const handle = async (): Promise<TokenStorage> => subject.handle()
    const lockless = async (): Promise<boolean> => !(await handle()).withLock
    const realms = async () => {
      const rig = sessionRig()
      const here = rig.realm({ storage: await handle() })
      const there = rig.realm({ storage: await handle() })
      const tokens = rig.service.issue()
      await here.session.signIn(tokens)
      await there.session.ready()
      return { ...rig, here, there, tokens }
    }
    /** Long enough for a session to look again, whatever kind of storage it has. */
    const later = 1_000

    describe('records', () => {
      const values = ['{"v":1}', '', 'null', '"\\\u0000\n', 'Grüße 🔑 \u2028', '{"v":1,"pad":"x"}'.repeat(4_096)]

      test.each(values.map((value) => [value.slice(0, 20), value]))(
        'C-056 gives back %j as it was put',
        async (_, value) => {
          const storage = await handle()
          await storage.setItem(key, value)
          expect(await (await handle()).getItem(key)).toBe(value)
        },
      )

      test('C-056 nothing was put: null or undefined', async () => {
        expect((await (await handle()).getItem(key)) ?? null).toBeNull()
      })

      test('C-056 the last put wins, and removing is final and may be repeated', async () => {
        const [one, two] = [await handle(), await handle()]
        await one.setItem(key, 'first')
        await two.setItem(key, 'second')
        expect(await one.getItem(key)).toBe('second')
        await two.removeItem(key)
        await one.removeItem(key)
        expect((await one.getItem(key)) ?? null).toBeNull()
        expect((await two.getItem(key)) ?? null).toBeNull()
      })

      test('C-056 keys are told apart, also those that look like paths, members or each other', async () => {
        const storage = await handle()
        const keys = [
          key,
          `${key}2`,
          key.toUpperCase(),
          `${key}:x`,
          '__proto__',
          'constructor',
          '../x',
          'a/b',
          'a b',
          'é',
          `agent-auth:${'k'.repeat(200)}`,
        ]
        for (const [index, each] of keys.entries()) await storage.setItem(each, `value ${index}`)
        for (const [index, each] of keys.entries()) expect(await storage.getItem(each)).toBe(`value ${index}`)
        await storage.removeItem(key)
        expect(await storage.getItem(`${key}2`)).toBe('value 1')
      })
    })

    describe('lock', () => {
      const locked = async (): Promise<NonNullable<TokenStorage['withLock']>> => {
        const storage = await handle()
        return async (lock, task, options) => {
          if (!storage.withLock) throw new Error('This storage has no lock.')
          return storage.withLock(lock, task, options)
        }
      }

      test('C-056 no update is lost: 50 locked read-modify-write turns over several handles count to 50', async () => {
        if (await lockless()) return
        const storages = await Promise.all([handle(), handle(), handle()])
        const turn = async (index: number): Promise<void> => {
          const storage = storages[index % storages.length] as TokenStorage
          await storage.withLock?.(key, async () => {
            const count = Number((await storage.getItem(key)) ?? 0)
            await flush()
            await storage.setItem(key, String(count + 1))
          })
        }
        await Promise.all(Array.from({ length: 50 }, (_, index) => turn(index)))
        expect(await (await handle()).getItem(key)).toBe('50')
      })

      test('C-056 passes on what the task gives or throws, and is free afterwards', async () => {
        if (await lockless()) return
        const [one, two] = [await locked(), await locked()]
        const failure = new Error('The task failed.')
        expect(await one(key, async () => 'value')).toBe('value')
        await expect(one(key, () => Promise.reject(failure))).rejects.toBe(failure)
        expect(await two(key, async () => 'after')).toBe('after')
      })

      test('C-056 other names are other locks', async () => {
        if (await lockless()) return
        const [one, two] = [await locked(), await locked()]
        const inner = await one(key, () => two(`${key}2`, async () => 'had both'))
        expect(inner).toBe('had both')
      })

      test('C-072 a waiter whose signal fires does not run, and those behind it do', async () => {
        if (await lockless()) return
        const [one, two, three] = [await locked(), await locked(), await locked()]
        const ran: string[] = []
        let release = (): void => {}
        const holding = one(
          key,
          () =>
            new Promise<void>((resolve) => {
              release = resolve
              ran.push('first')
            }),
        )
        while (ran.length === 0) await flush()
        const stop = new AbortController()
        const waiting = two(key, async () => void ran.push('second'), { signal: stop.signal })
        const last = three(key, async () => void ran.push('third'))
        stop.abort()
        await expect(waiting).rejects.toBeDefined()
        release()
        await Promise.all([holding, last])
        expect(ran).toEqual(['first', 'third'])
      })

      test('C-072 a signal that fired before keeps the task from running', async () => {
        if (await lockless()) return
        const one = await locked()
        let ran = false
        const work = one(
          key,
          async () => {
            ran = true
          },
          { signal: AbortSignal.abort() },
        )
        await expect(work).rejects.toBeDefined()
        expect(ran).toBe(false)
        expect(await one(key, async () => 'free')).toBe('free')
      })

      test('C-072 a signal that fires once the lock was had does not take it away', async () => {
        if (await lockless()) return
        const [one, two] = [await locked(), await locked()]
        const stop = new AbortController()
        const order: string[] = []
        const first = one(
          key,
          async () => {
            stop.abort()
            for (let turn = 0; turn < 5; turn++) await flush()
            order.push('first')
          },
          { signal: stop.signal },
        )
        await Promise.all([first, two(key, async () => void order.push('second'))])
        expect(order).toEqual(['first', 'second'])
      })
    })

    describe('a session on it', () => {
      test('C-070 another handle finds the session, and one refresh serves both', async () => {
        const { clock, service, here, there, tokens } = await realms()
        expect(await there.session.getAccessToken()).toBe(tokens.accessToken)
        clock.advance(hour)
        const calls = Array.from({ length: 20 }, (_, index) => (index % 2 ? here : there).session.getAccessToken())
        const answers = new Set(await Promise.all(calls))
        expect(answers.size).toBe(1)
        expect(answers).not.toContain(tokens.accessToken)
        if (!(await lockless())) expect(service.sent).toHaveLength(1)
        expect(service.history.filter(({ event }) => event === 'refused')).toEqual([])
      })

      test('C-067 sign-out reaches the other handle and leaves nothing', async () => {
        const { clock, service, here, there } = await realms()
        await here.session.signOut()
        clock.advance(later)
        expect(await codeOf(there.session.getAccessToken())).toBe('login_required')
        expect(
          await codeOf(
            sessionRig()
              .realm({ storage: await handle() })
              .session.getAccessToken(),
          ),
        ).toBe('login_required')
        expect(service.sent).toHaveLength(0)
      })

      test('C-074 sign-out on one handle while the other refreshes: it stays out', async () => {
        const { clock, service, here, there } = await realms()
        clock.advance(hour)
        const release = service.hold()
        const call = codeOf(there.session.getAccessToken())
        while (service.sent.length === 0) await flush()
        const out = here.session.signOut()
        while ((await codeOf(here.session.getAccessToken())) !== 'login_required') await flush()
        await flush()
        release()
        await Promise.all([call, out])
        clock.advance(later)
        expect(await codeOf(here.session.getAccessToken())).toBe('login_required')
        expect(await codeOf(there.session.getAccessToken())).toBe('login_required')
      })

      test('C-056 a stale commit is refused: a sign-in on one handle survives the other’s refresh', async () => {
        const { clock, service, here, there } = await realms()
        clock.advance(hour)
        const release = service.hold()
        const call = codeOf(there.session.getAccessToken())
        while (service.sent.length === 0) await flush()
        const next = service.issue()
        const signedIn = here.session.signIn(next)
        for (let turn = 0; turn < 20; turn++) await flush()
        release()
        await Promise.all([call, signedIn])
        clock.advance(later)
        for (const { session } of [here, there]) {
          // A call that finds out about the new sign-in was made for the old one.
          expect(['session_changed', { resolved: next.accessToken }]).toContainEqual(
            await codeOf(session.getAccessToken()),
          )
          expect(await session.getAccessToken()).toBe(next.accessToken)
        }
      })
    })
  })
}
