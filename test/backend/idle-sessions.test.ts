import type { Backend } from 'agent-auth/backend'
import { expect, test } from 'vitest'
import type { AppBrowser } from '../support/backend-rig.ts'
import { statuses, twoProcesses } from '../support/two-processes.ts'

const idleMs = 600_000
const options = { idleMs }
/** Uses the session as server code does. Returns whether it has not ended. */
const used = async (backend: Backend, browser: AppBrowser): Promise<boolean> =>
  (await backend.getSession(browser.request('/'))).status !== 'signed-out'
const ofSessions = (names: Iterable<string>): string[] => [...names].filter((name) => name.includes('web-'))

test('a session without requests for idleMs is refused in every process, and does not come back', async () => {
  const { clock, signIn } = await twoProcesses({ options })
  const { here, there } = await signIn()
  clock.advance(idleMs - 1)
  expect(await statuses(there)).toEqual(['signed-in'])
  clock.advance(idleMs)
  for (let round = 0; round < 3; round++) {
    expect((await here.call()).status).toBe(401)
    expect(await statuses(here, there)).toEqual(['signed-out', 'signed-out'])
  }
  const again = await signIn()
  expect(await statuses(again.here, again.there, there)).toEqual(['signed-in', 'signed-in', 'signed-out'])
})

test('a machine whose clock is half an hour ahead refuses the sessions of others, and destroys none', async () => {
  const { rig, clock, service, signIn } = await twoProcesses({ skewMs: 3 * idleMs, options })
  const { here, there } = await signIn()
  expect((await here.call()).status).toBe(204)
  expect((await there.call()).status).toBe(401)
  // So long that this process reads the storage again.
  clock.advance(2_000)
  expect((await here.call()).status).toBe(204)
  expect([...service.live]).toEqual(['refresh-1'])
  expect(rig.events.filter(({ type }) => type === 'ended_session_removed')).toEqual([])
})

test('requests to one process keep the session in the other, with at most ten notes in idleMs', async () => {
  const { rig, clock, written, signIn } = await twoProcesses({ options })
  const { here, there } = await signIn()
  for (let round = 0; round < 600; round++) {
    clock.advance(idleMs / 100)
    expect(await used(rig.backend, here)).toBe(true)
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
  for (const { here } of [one, two]) expect((await here.call()).status).toBe(204)
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
    for (const browser of [here, there]) expect((await browser.call()).status).toBe(204)
  }
})

test('a session in use outlasts a storage that takes no writes for longer than idleMs', async () => {
  const { rig, clock, fault, written, other, signIn } = await twoProcesses({ options })
  const { here, there } = await signIn()
  fault.writes = 'fail'
  for (let round = 0; round < 6; round++) {
    clock.advance(idleMs / 2)
    expect({ here: await used(rig.backend, here), there: await used(other, there) }).toEqual({
      here: true,
      there: true,
    })
  }
  fault.writes = 'work'
  clock.advance(2_000)
  expect({ here: await used(rig.backend, here), there: await used(other, there) }).toEqual({ here: true, there: true })
  expect(written.at(-1)).toMatch(/:last-use$/)
  fault.writes = 'fail'
  clock.advance(idleMs)
  expect(await statuses(here, there)).toEqual(['signed-out', 'signed-out'])
})

test('a logout leaves no note of the session', async () => {
  const { clock, records, signIn } = await twoProcesses({ options })
  const { here } = await signIn()
  clock.advance(idleMs / 2)
  expect((await here.call()).status).toBe(204)
  expect(ofSessions(records.keys())).toHaveLength(2)
  expect((await here.logOut()).status).toBe(200)
  expect(ofSessions(records.keys())).toEqual([])
})

test('pages learn when an idle session ends, and keep it by no question, however many tabs ask', async () => {
  const { clock, written, signIn } = await twoProcesses({ options })
  const { here, there } = await signIn()
  const endsInMs = async (browser: AppBrowser): Promise<number> =>
    (await (await browser.send('/auth/session')).json()).endsAtMs - clock.wallMs()
  expect(await endsInMs(here)).toBe(idleMs)
  clock.advance(idleMs / 2)
  expect((await here.call()).status).toBe(204)
  expect(await endsInMs(here)).toBe(idleMs)
  const before = written.length
  for (const left of [0.8, 0.6, 0.4, 0.2]) {
    clock.advance(idleMs * 0.2)
    expect({ hereMs: await endsInMs(here), thereMs: await endsInMs(there) }).toEqual({
      hereMs: idleMs * left,
      thereMs: idleMs * left,
    })
  }
  clock.advance(idleMs * 0.2)
  expect(await statuses(here, there)).toEqual(['signed-out', 'signed-out'])
  expect(written).toHaveLength(before)
})

test('a session in use ends with sessionLifeMs, and pages learn that time', async () => {
  const { clock, signIn } = await twoProcesses({ options: { idleMs: 120_000, sessionLifeMs: 60_000 } })
  const { here } = await signIn()
  const { endsAtMs } = await (await here.send('/auth/session')).json()
  expect(endsAtMs - clock.wallMs()).toBeLessThanOrEqual(60_000)
})

test('without idleMs a session may be idle, and its use is not noted', async () => {
  const { clock, written, signIn } = await twoProcesses()
  const { here, there } = await signIn()
  const before = written.length
  clock.advance(20 * 86_400_000)
  expect(await statuses(here, there)).toEqual(['signed-in', 'signed-in'])
  expect(written.length).toBe(before)
})

test('a session object that server code keeps gives no token of an idle session, and does not bring it back', async () => {
  const { rig, clock, signIn } = await twoProcesses({ options })
  const { here } = await signIn()
  const kept = await rig.backend.getSession(here.request('/'))
  if (kept.status === 'signed-out') throw new Error('no session')
  clock.advance(idleMs + 1)
  await expect(kept.getAccessToken()).rejects.toMatchObject({ code: 'login_required' })
  expect(await statuses(here)).toEqual(['signed-out'])
})
