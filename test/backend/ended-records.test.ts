// The parts behind an ending, each alone.
import { createAuthConfig, createSession, memoryStorage, type Session, type SessionState } from 'agent-auth'
import type { BackendEvent } from 'agent-auth/backend'
import { expect, test } from 'vitest'
import { sessionCheck } from '../../src/backend/proxy/session-check.ts'
import { endingMarks } from '../../src/backend/sessions/ending-marks.ts'
import { endedRemoval } from '../../src/backend/sessions/remove-ended.ts'
import { watchedStorage } from '../../src/backend/sessions/storage-failure-events.ts'
import { decodeRecord, isRecord, sessionName } from '../../src/session/record.ts'
import { steppedStorage } from '../support/backend-rig.ts'
import { testClock } from '../support/clock.ts'

const clock = testClock()
const config = createAuthConfig({
  authUrl: 'https://auth.example.com',
  baseUrl: 'https://api.example.com',
  clientId: 'c',
  redirectUri: 'https://app.example.com/auth/callback',
  clock,
})
const idOf = (raw: unknown): string => {
  const record = decodeRecord(sessionName(config, 'k'), raw)
  if (!isRecord(record)) throw new Error('There is no record.')
  return record.id
}
const tokens = { accessToken: 'a', refreshToken: 'r', obtainedAtMs: clock.wallMs() }

test('a record that is of another sign-in when it is read again under the lock stays, without an event', async () => {
  const events: BackendEvent[] = []
  const emit = (event: BackendEvent): void => void events.push(event)
  const storage = memoryStorage()
  await createSession(config, { storage, key: 'k' }).signIn(tokens)
  const allSessions = watchedStorage(storage, emit)
  const remove = endedRemoval({ config, revocationEndpoint: undefined, allSessions, uses: undefined, emit })
  const name = sessionName(config, 'k')
  await remove(name, { reason: 'ended', id: 'of another sign-in' })
  expect(storage.getItem(name)).toContain('"accessToken":"a"')
  await remove(name, { reason: 'ended', id: idOf(storage.getItem(name)) })
  expect(storage.getItem(name)).toBeUndefined()
  expect(events).toEqual([{ type: 'ended_session_removed', reason: 'ended', revocation: 'off' }])
})

test('an ended record stays without a rejection if a synchronous storage cannot be read again', async () => {
  const storage = memoryStorage()
  await createSession(config, { storage, key: 'k' }).signIn(tokens)
  const name = sessionName(config, 'k')
  const getItem = (): never => {
    throw new Error('the storage is away')
  }
  const allSessions = watchedStorage({ ...storage, getItem }, () => {})
  const remove = endedRemoval({ config, revocationEndpoint: undefined, allSessions, uses: undefined, emit() {} })
  await remove(name, { reason: 'ended', id: idOf(storage.getItem(name)) })
  expect(storage.getItem(name)).toContain('"accessToken":"a"')
})

test('requests that find an ended session at the same time wait for the lock once', async () => {
  let locks = 0
  const stepped = steppedStorage((operation) => {
    if (operation === 'withLock') locks++
  })
  const allSessions = watchedStorage(stepped, () => {})
  const remove = endedRemoval({ config, revocationEndpoint: undefined, allSessions, uses: undefined, emit() {} })
  await Promise.all([1, 2, 3].map(() => remove('name', { reason: 'ended', id: 'i' })))
  expect(locks).toBe(1)
})

test('a read of an ending that began before a write is not remembered', async () => {
  const inner = memoryStorage()
  let open = (): void => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const reads: Promise<void>[] = [gate]
  const slow = {
    ...inner,
    async getItem(name: string) {
      const found = inner.getItem(name)
      await reads.shift()
      return found
    },
  }
  const marks = endingMarks(config, slow)
  const early = marks.read('name', 'recent')
  await marks.write('name')
  open()
  expect(await early).toBeUndefined()
  // What would be remembered is remembered now.
  await new Promise((resolve) => setImmediate(resolve))
  expect(await marks.read('name', 'recent')).toMatchObject({ mark: expect.any(String), atMs: clock.wallMs() })
})

test.each<[SessionState, boolean]>([
  [{ status: 'signed-in' }, false],
  [{ status: 'signed-out', reason: 'store_lost' }, true],
  [{ status: 'signed-out', reason: 'signed_out' }, true],
  [{ status: 'signed-out', reason: 'expired' }, false],
])('a response whose session is %o ends: %s. It looks once a second', async (state, ends) => {
  let looks = 0
  const ready = async (): Promise<SessionState> => {
    looks++
    return state
  }
  const hasEnded = sessionCheck(
    { key: 'k', session: { ready } as Session },
    { config: { ...config, clock }, uses: undefined },
  )
  expect(await hasEnded()).toBe(false)
  clock.advance(1_000)
  expect(await hasEnded()).toBe(ends)
  await hasEnded()
  expect(looks).toBe(1)
})
