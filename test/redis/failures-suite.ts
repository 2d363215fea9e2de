import { describe, type TestContext, test } from 'vitest'
import { sessionName } from '../../src/session/record.ts'
import type { RedisOptions } from '../support/redis-server.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { clients, type Kind, onAdmin, ownRedis, retryable } from './own-redis.ts'

const hour = 3_600_000

/** Returns a session with a signed-in user, over a Redis of its own. */
async function signedIn(kind: Kind, { expect, onTestFinished: atEnd }: TestContext, options?: RedisOptions) {
  const server = await ownRedis(options, atEnd)
  const { storage } = await clients[kind](server.url, undefined, atEnd)
  const rig = sessionRig()
  const realm = rig.realm({ storage })
  const tokens = rig.service.issue()
  await realm.session.signIn(tokens)
  return { ...rig, ...realm, server, storage, tokens, expect, admin: await onAdmin(server, atEnd) }
}

/** What a session does while Redis is down, slow, empty or read-only. */
export function failuresSuite(kind: Kind): void {
  // Deadlines are real time: the tests wait for them side by side.
  describe.concurrent(`Redis that fails, seen through ${kind}`, () => {
    test('killed: the token at hand serves, then a retryable error, no user signed out; back by itself after a restart', async (context) => {
      const { expect, clock, service, session, server, storage, tokens, eventsOf } = await signedIn(kind, context, {
        persistence: 'every-write',
      })
      await server.crash()
      clock.advance(2_000)
      expect(await session.getAccessToken()).toBe(tokens.accessToken)
      expect(eventsOf('storage_degraded')).toMatchObject([{ type: 'storage_degraded', reason: 'read_failed' }])
      clock.advance(hour)
      await expect(session.getAccessToken()).rejects.toMatchObject(retryable)
      await expect(storage.ready()).rejects.toMatchObject(retryable)
      expect(service.sent).toHaveLength(0)

      await server.restart()
      await expect.poll(() => codeOf(storage.ready())).toEqual({ resolved: undefined })
      clock.advance(60_000)
      expect(service.familyOf(await session.getAccessToken())).toBe(1)
      expect(service.sent).toHaveLength(1)
      expect(session.state.status).toBe('signed-in')
      expect(eventsOf('session_ended')).toEqual([])
    })

    test('killed between the refresh and the save: the new token serves, and is saved once Redis is back', async (context) => {
      const { expect, clock, service, session, server, storage, realm, config } = await signedIn(kind, context, {
        persistence: 'every-write',
      })
      clock.advance(hour)
      const release = service.hold()
      const call = session.getAccessToken()
      await expect.poll(() => service.sent.length).toBe(1)
      await server.crash()
      release()
      const token = await call
      await server.restart()
      await expect.poll(() => codeOf(storage.ready())).toEqual({ resolved: undefined })
      // The lease of before the crash was kept as well, and must end first.
      const saved = async () => {
        clock.advance(5_000)
        expect(await session.getAccessToken()).toBe(token)
        return storage.getItem(sessionName(config, 'default'))
      }
      await expect.poll(saved, { interval: 500 }).toContain(token)
      expect(await realm({ storage }).session.getAccessToken()).toBe(token)
      expect(service.sent).toHaveLength(1)
    })

    test('killed while the token has expired: the call fails within 6 s', async (context) => {
      const { expect, clock, service, session, server } = await signedIn(kind, context)
      await server.crash()
      clock.advance(hour)
      for (let call = 0; call < 2; call++) {
        const startMs = performance.now()
        await expect(session.getAccessToken()).rejects.toMatchObject(retryable)
        expect(performance.now() - startMs).toBeLessThan(6_000)
        clock.advance(60_000)
      }
      expect(service.sent).toHaveLength(0)
    })

    test('flushed: one store_lost, no loop, and a new sign-in works', async (context) => {
      const { expect, clock, service, session, admin, eventsOf } = await signedIn(kind, context)
      await admin.flushall()
      clock.advance(2_000)
      expect(await codeOf(session.getAccessToken())).toBe('login_required')
      expect(await codeOf(session.getAccessToken())).toBe('login_required')
      expect(eventsOf('session_ended')).toEqual([{ type: 'session_ended', reason: 'store_lost' }])
      const next = service.issue()
      await session.signIn(next)
      expect(await session.getAccessToken()).toBe(next.accessToken)
      expect(service.sent).toHaveLength(0)
    })

    test('slow: no operation waits longer than 2.75 s for it, and it recovers', async (context) => {
      const { expect, clock, session, server, tokens, storage } = await signedIn(kind, context)
      server.halt()
      clock.advance(2_000)
      const startMs = performance.now()
      expect(await session.getAccessToken()).toBe(tokens.accessToken)
      const tookMs = performance.now() - startMs
      server.continue()
      // One operation was waited for; a second one would make it 5.5 s.
      expect(tookMs).toBeGreaterThan(2_500)
      expect(tookMs).toBeLessThan(5_250)
      await expect.poll(() => codeOf(storage.ready())).toEqual({ resolved: undefined })
      clock.advance(2_000)
      expect(await session.getAccessToken()).toBe(tokens.accessToken)
    })

    test.for([
      ['min-replicas-to-write', '1', 'NOREPLICAS'],
      ['maxmemory', '1', 'OOM'],
    ] as const)(
      'that refuses writes (%s): its reason is in the message, its text is not',
      async ([setting, value, reason], context) => {
        const { expect, clock, session, admin, storage, tokens, eventsOf } = await signedIn(kind, context)
        await admin.config('SET', setting, value)
        const failure = await storage.setItem('name', 'secret of a user').catch((error: unknown) => error)
        expect(failure).toMatchObject(retryable)
        expect((failure as Error).message).toContain(`(${reason})`)
        expect((failure as Error).message).not.toContain('secret')
        expect((failure as Error).cause).toBeUndefined()
        clock.advance(2_000)
        expect(await session.getAccessToken()).toBe(tokens.accessToken)
        expect(eventsOf('session_ended')).toEqual([])
      },
    )
  })
}
