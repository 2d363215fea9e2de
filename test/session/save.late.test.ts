import type { TokenStorage } from 'agent-auth'
import { expect, test } from 'vitest'
import { codeOf, type Realm, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { flush, virtualTime } from '../support/virtual-time.ts'

// A sign-in whose first save failed is saved by a later call. Machines share the store, and each has a clock of its own.

const aheadMs = 20_000

/** Two machines over one store that can refuse writes. The wall clock of the first is ahead, but not by the life of a token. */
function machines(ofSecond: Partial<TokenStorage> = {}) {
  const { clock, service, realm } = sessionRig()
  const records = sharedRecords()
  let isFull = true
  const fault = (operation: string): void => {
    if (isFull && operation === 'setItem') throw new Error('full')
  }
  const ahead = { wallMs: () => clock.wallMs() + aheadMs, monotonicMs: () => clock.monotonicMs() }
  return {
    service,
    records,
    first: realm({ storage: records.handle({ fault }), options: { clock: ahead } }),
    second: realm({ storage: { ...records.handle({ fault }), ...ofSecond } }),
    freeSpace(): void {
      isFull = false
    },
    /** Long enough after the last call that it reads the store and repeats a pending write. */
    async tokenLater({ session }: Realm): Promise<unknown> {
      clock.advance(6_000)
      const token = await codeOf(session.getAccessToken())
      await flush()
      return token
    },
  }
}

test('a sign-in that was saved at once replaces an earlier one whose save is pending, by whose clock it is earlier (histories on Redis, seed one)', async () => {
  const { service, records, first, second, freeSpace, tokenLater } = machines()
  await first.session.signIn(service.issue())
  freeSpace()
  const later = service.issue()
  await second.session.signIn(later)
  expect(await tokenLater(first)).toBe('session_changed')
  for (const machine of [first, second, first])
    expect(await tokenLater(machine)).toEqual({ resolved: later.accessToken })
  expect(records.record()?.accessToken).toBe(later.accessToken)
})

test('it does so after a refresh of the pending one as well', async () => {
  const { service, records, first, second, freeSpace, tokenLater } = machines()
  await first.session.signIn(service.issue())
  await first.session.getAccessToken({ forceRefresh: true })
  freeSpace()
  const later = service.issue()
  await second.session.signIn(later)
  expect(await tokenLater(first)).toBe('session_changed')
  for (const machine of [first, second]) expect(await tokenLater(machine)).toEqual({ resolved: later.accessToken })
  expect(records.record()?.accessToken).toBe(later.accessToken)
})

test('a sign-in that was saved late says so in its record, also after a refresh', async () => {
  const { service, records, second, freeSpace, tokenLater } = machines()
  await second.session.signIn(service.issue())
  freeSpace()
  await tokenLater(second)
  expect(records.record()).toMatchObject({ rev: 1, late: true })
  await second.session.getAccessToken({ forceRefresh: true })
  expect(records.record()).toMatchObject({ rev: 2, late: true })
  await second.session.signIn(service.issue())
  expect(records.record()).not.toHaveProperty('late')
  await second.session.getAccessToken({ forceRefresh: true })
  expect(records.record()).not.toHaveProperty('late')
})

test.each(['after', 'before'] as const)(
  'a sign-in whose refresh had the lock first and could not save says that it was saved late, if it is saved %s its first save has ended',
  async (order) => {
    let release = (): void => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    let locks = 0
    const { service, records, second, freeSpace, tokenLater } = machines({
      async withLock(_name, task) {
        locks++
        if (locks === 1) await released
        return task()
      },
    })
    const signedIn = second.session.signIn(service.issue())
    await flush()
    const token = await second.session.getAccessToken({ forceRefresh: true })
    if (order === 'after') {
      release()
      await signedIn
    }
    freeSpace()
    expect(await tokenLater(second)).toEqual({ resolved: token })
    expect(records.record()).toMatchObject({ rev: 2, late: true, accessToken: token })
    release()
    await signedIn
  },
)

test('a first save that took effect after its time-out ends by a sign-out elsewhere, although a refresh came in between', async () => {
  const time = virtualTime()
  const { service, realm } = sessionRig(time.clock)
  const items = new Map<string, string>()
  const never = new Promise<never>(() => {})
  let lateWrite: (() => void) | undefined
  let heldReads = 0
  const storage: TokenStorage = {
    async getItem(name) {
      if (heldReads > 0) {
        heldReads--
        return never
      }
      return items.get(name)
    },
    async setItem(name, value) {
      if (lateWrite) {
        lateWrite()
        throw new Error('refused')
      }
      lateWrite = () => items.set(name, value)
      heldReads = 1
      return never
    },
    async removeItem(name) {
      items.delete(name)
    },
  }
  const { session, eventsOf } = realm({ storage })
  const tokens = service.issue()
  const signedIn = session.signIn(tokens)
  await time.pass(5_000)
  const refreshed = await time.until(session.getAccessToken({ rejected: tokens.accessToken }))
  await time.until(signedIn)
  expect(await session.getAccessToken()).toBe(refreshed)
  items.clear()
  await time.pass(2_000)
  expect(await codeOf(session.getAccessToken())).toBe('login_required')
  expect(eventsOf('session_ended')).toEqual([{ type: 'session_ended', reason: 'store_lost' }])
  expect(items.size).toBe(0)
})
