// Idle sessions: src/backend/sessions/last-use.ts, by the option idleMs.
import { expect, test } from 'vitest'
import { statuses, twoProcesses } from '../support/two-processes.ts'

const idleMs = 600_000
const options = { idleMs }
const ofSessions = (names: Iterable<string>): string[] => [...names].filter((name) => name.includes('web-'))

test('a session without requests for idleMs ends in every process, is removed and revoked, and does not come back', async () => {
  const { rig, clock, service, records, signIn } = await twoProcesses({ options })
  const { here, there } = await signIn()
  clock.advance(idleMs - 1)
  expect(await statuses(there)).toEqual(['signed-in'])
  clock.advance(idleMs)
  expect((await here.call()).status).toBe(401)
  expect(await statuses(here, there)).toEqual(['signed-out', 'signed-out'])
  await expect
    .poll(() => rig.events.at(-1))
    .toEqual({ type: 'ended_session_removed', reason: 'idle', revocation: 'done' })
  expect([...service.live]).toEqual([])
  expect(ofSessions(records.keys())).toEqual([])
  const again = await signIn()
  expect(await statuses(again.here, again.there, there)).toEqual(['signed-in', 'signed-in', 'signed-out'])
})

test('requests to one process keep the session in the other, with at most ten notes in idleMs', async () => {
  const { clock, written, signIn } = await twoProcesses({ options })
  const { here, there } = await signIn()
  for (let round = 0; round < 600; round++) {
    clock.advance(idleMs / 100)
    expect(await statuses(here)).toEqual(['signed-in'])
  }
  expect(await statuses(there)).toEqual(['signed-in'])
  const notes = written.filter((name) => name.endsWith(':last-use'))
  expect(notes.length).toBeGreaterThan(50)
  expect(notes.length).toBeLessThanOrEqual(60)
})

test('a session ends at most idleMs after its last request, and at 90 % of that time at the earliest', async () => {
  const { clock, signIn } = await twoProcesses({ options })
  const one = await signIn()
  const two = await signIn()
  clock.advance(idleMs / 10 - 1)
  expect(await statuses(one.here, two.here)).toEqual(['signed-in', 'signed-in'])
  clock.advance(idleMs * 0.9 - 1)
  expect(await statuses(one.there)).toEqual(['signed-in'])
  clock.advance(idleMs / 10 + 2)
  expect(await statuses(two.there)).toEqual(['signed-out'])
})

test.each([60_000, -60_000])('a clock that differs by %i ms ends no session that is in use', async (skewMs) => {
  const { clock, signIn } = await twoProcesses({ skewMs, options: { idleMs: 120_000 } })
  const { here, there } = await signIn()
  for (let round = 0; round < 20; round++) {
    clock.advance(20_000)
    expect(await statuses(here, there)).toEqual(['signed-in', 'signed-in'])
  }
})

test('a use that cannot be noted ends no session', async () => {
  const { clock, fault, rig, signIn } = await twoProcesses({ options })
  const { here } = await signIn()
  clock.advance(idleMs / 2)
  fault.writes = 'fail'
  expect(await statuses(here)).toEqual(['signed-in'])
  expect(rig.events.at(-1)).toMatchObject({ type: 'storage_error', operation: 'setItem' })
  fault.writes = 'work'
  clock.advance(2_000)
  expect(await statuses(here)).toEqual(['signed-in'])
  clock.advance(idleMs - 1)
  expect(await statuses(here)).toEqual(['signed-in'])
})

test('a session in use outlasts a storage that takes no writes for longer than idleMs', async () => {
  const { clock, fault, written, signIn } = await twoProcesses({ options })
  const { here, there } = await signIn()
  fault.writes = 'fail'
  for (let round = 0; round < 6; round++) {
    clock.advance(idleMs / 2)
    expect(await statuses(here, there)).toEqual(['signed-in', 'signed-in'])
  }
  fault.writes = 'work'
  clock.advance(2_000)
  expect(await statuses(here, there)).toEqual(['signed-in', 'signed-in'])
  expect(written.at(-1)).toMatch(/:last-use$/)
  fault.writes = 'fail'
  clock.advance(idleMs)
  expect(await statuses(here, there)).toEqual(['signed-out', 'signed-out'])
})

test('a logout leaves no note of the session', async () => {
  const { clock, records, signIn } = await twoProcesses({ options })
  const { here } = await signIn()
  clock.advance(idleMs / 2)
  expect(await statuses(here)).toEqual(['signed-in'])
  expect(ofSessions(records.keys())).toHaveLength(2)
  expect((await here.logOut()).status).toBe(200)
  expect(ofSessions(records.keys())).toEqual([])
})

test('without idleMs a session may be idle, and its use is not noted', async () => {
  const { clock, written, signIn } = await twoProcesses()
  const { here, there } = await signIn()
  const before = written.length
  clock.advance(20 * 86_400_000)
  expect(await statuses(here, there)).toEqual(['signed-in', 'signed-in'])
  expect(written.length).toBe(before)
})
