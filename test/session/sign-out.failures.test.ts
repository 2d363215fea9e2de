import { expect, test } from 'vitest'
import { faulty } from '../support/faulty-rig.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { flush } from '../support/virtual-time.ts'

const hour = 3_600_000

/** A session whose record is removed by a sign-out, then saved again by a refresh of another process. */
async function savedAgain({ failing }: { failing: 'getItem' | 'removeItem' }) {
  const { clock, service, realm } = sessionRig()
  const records = sharedRecords()
  const writes: (() => void)[] = []
  let [isSlow, isBroken] = [false, false]
  const step = async (operation: string): Promise<void> => {
    if (isSlow && operation === 'setItem') await new Promise<void>((resolve) => void writes.push(resolve))
  }
  const fault = (operation: string): void => {
    if (isBroken && operation === failing) throw new Error('EIO')
  }
  const here = realm({ storage: records.handle({ fault }) })
  const there = realm({ storage: records.handle({ step }) })
  await here.session.signIn(service.issue())
  await there.session.ready()
  clock.advance(hour)
  isSlow = true
  const refreshing = codeOf(there.session.getAccessToken())
  await expect.poll(() => writes.length).toBe(1)
  const out = codeOf(here.session.signOut())
  await flush()
  expect(records.items.size).toBe(0)
  isBroken = true
  for (const write of writes) write()
  await refreshing
  const repair = (): void => {
    isBroken = false
  }
  return { here, records, out: await out, repair }
}

test.each(['removeItem', 'getItem'] as const)(
  'a sign-out rejects if a refresh elsewhere has saved the record again and its %s fails, seed s1006',
  async (failing) => {
    const { here, records, out, repair } = await savedAgain({ failing })
    expect(records.items.size).toBe(1)
    expect(out).toBe('storage_failed')
    expect(here.eventsOf('storage_degraded').map(({ reason }) => reason)).toContain('remove_failed')
    expect(here.session.state).toEqual({ status: 'signed-out', reason: 'signed_out' })
    repair()
    await here.session.signOut()
    expect(records.items.size).toBe(0)
  },
)

test('a session that has not read its record removes it also if the first read and the first removal fail', async () => {
  const { clock, service, realm } = sessionRig()
  const records = sharedRecords()
  await realm({ storage: records.handle() }).session.signIn(service.issue())
  const failing = new Set(['getItem', 'removeItem'])
  const fault = (operation: string): void => {
    if (failing.delete(operation)) throw new Error('EIO')
  }
  const { session } = realm({ storage: records.handle({ fault }) })
  await session.signOut()
  expect(records.items.size).toBe(0)
  clock.advance(1_100)
  expect(await codeOf(session.getAccessToken())).toBe('login_required')
})

test('a record that comes back after a sign-out and cannot be removed is reported, and removed again every five seconds', async () => {
  const { clock, service, records, failing, counts, storage, realm } = faulty()
  // The monotonic clock is at zero when the record comes back.
  const fromZero = { wallMs: () => clock.wallMs(), monotonicMs: () => clock.monotonicMs() - 1_000 }
  const { session, eventsOf } = realm({ storage, options: { clock: fromZero } })
  await session.signIn(service.issue())
  const written = [...records.items]
  await session.signOut()
  for (const [key, text] of written) records.items.set(key, text)
  failing.add('removeItem')
  const before = counts.removeItem
  const removals: number[] = []
  for (const ms of [0, 0, 4_999, 1]) {
    clock.advance(ms)
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
    await flush()
    removals.push(counts.removeItem - before)
  }
  const reasons = eventsOf('storage_degraded').map(({ reason }) => reason)
  expect({ removals, reasons }).toEqual({ removals: [1, 1, 1, 2], reasons: ['remove_failed'] })
})
