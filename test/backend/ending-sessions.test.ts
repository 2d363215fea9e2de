import type { Backend } from 'agent-auth/backend'
import { describe, expect, test } from 'vitest'
import { type AppBrowser, type BackendRig, guard } from '../support/backend-rig.ts'
import { gate } from '../support/gate.ts'
import { failure } from '../support/token-flow.ts'
import { statuses, twoProcesses } from '../support/two-processes.ts'

const keyOf = async (rig: BackendRig, browser: AppBrowser): Promise<string> => {
  const session = await rig.backend.getSession(browser.request('/'))
  if (session.status === 'signed-out') throw new Error('No user is signed in.')
  return session.key
}

describe.each(['asynchronous', 'synchronous'] as const)('endAll over an %s storage', (kind) => {
  test('ends every session: here at once, in another process within two seconds, and revokes those that are seen', async () => {
    const { rig, clock, service, records, signIn } = await twoProcesses({ kind })
    const [ada, ben] = [await signIn('ada'), await signIn('ben')]
    expect(await statuses(ada.here, ada.there, ben.here, ben.there)).toEqual(Array(4).fill('signed-in'))
    await rig.backend.endAll()
    expect(rig.events.at(-1)).toEqual({ type: 'sessions_ended', scope: 'all' })
    expect(await statuses(ada.here, ben.here)).toEqual(['signed-out', 'signed-out'])
    expect((await ada.here.call()).status).toBe(401)
    clock.advance(2_000)
    expect(await statuses(ada.there, ben.there)).toEqual(['signed-out', 'signed-out'])
    await expect.poll(() => [...service.live]).toEqual([])
    await expect
      .poll(() => rig.events.filter(({ type }) => type === 'ended_session_removed'))
      .toEqual(Array(2).fill({ type: 'ended_session_removed', revocation: 'done' }))
    expect([...records.keys()].filter((name) => name.includes('web-'))).toEqual([])
  })

  test('a sign-in after it is valid at once, also in a process that has read only an earlier ending', async () => {
    const { rig, clock, other, signIn } = await twoProcesses({ kind })
    const before = await signIn()
    await rig.backend.endAll()
    expect(await statuses(before.here)).toEqual(['signed-out'])
    const first = await signIn()
    // The other process reads the first ending now, and keeps it for a moment.
    expect(await statuses(first.here, first.there)).toEqual(['signed-in', 'signed-in'])
    await rig.backend.endAll()
    const second = await signIn('ada', rig.backend)
    expect(await statuses(second.here, second.there)).toEqual(['signed-in', 'signed-in'])
    const third = await signIn('ada', other)
    expect(await statuses(third.here, third.there)).toEqual(['signed-in', 'signed-in'])
    clock.advance(2_000)
    expect(await statuses(first.here, first.there)).toEqual(['signed-out', 'signed-out'])
    expect(await statuses(second.here, second.there, third.here)).toEqual(Array(3).fill('signed-in'))
  })
})

describe('endSessionsOf', () => {
  test('ends the sessions of this subject in all processes, and those of no other', async () => {
    const { rig, clock, service, signIn } = await twoProcesses()
    const [one, two, ben] = [await signIn('ada'), await signIn('ada'), await signIn('ben')]
    expect(await statuses(one.there, two.there, ben.there)).toEqual(Array(3).fill('signed-in'))
    await rig.backend.endSessionsOf('ada')
    expect(rig.events.at(-1)).toEqual({ type: 'sessions_ended', scope: 'subject' })
    expect(await statuses(one.here, two.here, ben.here)).toEqual(['signed-out', 'signed-out', 'signed-in'])
    clock.advance(2_000)
    expect(await statuses(one.there, two.there, ben.there)).toEqual(['signed-out', 'signed-out', 'signed-in'])
    await expect.poll(() => [...service.live]).toEqual(['refresh-3'])
    const again = await signIn('ada')
    expect(await statuses(again.here, again.there)).toEqual(['signed-in', 'signed-in'])
  })

  test('does not end a session whose access token names no subject', async () => {
    const { rig, clock, signIn } = await twoProcesses()
    const { here, there } = await signIn('')
    await rig.backend.endSessionsOf('ada')
    clock.advance(2_000)
    expect(await statuses(here, there)).toEqual(['signed-in', 'signed-in'])
  })

  test.each([undefined, '', 7, '\ud800'])('refuses the subject %o with config_invalid', async (subject) => {
    const { rig } = await twoProcesses()
    expect(await failure(() => rig.backend.endSessionsOf(subject as string))).toMatchObject({ code: 'config_invalid' })
    expect(rig.events).toEqual([])
  })
})

describe('sign out everywhere', () => {
  const everywhere = { method: 'POST', headers: guard }

  test('ends the sessions of this user in other browsers, revokes their tokens, and those of no other user', async () => {
    const { rig, clock, service, signIn } = await twoProcesses()
    const [laptop, phone, ben] = [await signIn('ada'), await signIn('ada'), await signIn('ben')]
    const left = await laptop.here.send('/auth/logout?everywhere', everywhere)
    expect([left.status, await left.json()]).toEqual([200, { status: 'signed-out' }])
    expect(laptop.here.cookies.size).toBe(0)
    clock.advance(2_000)
    expect(await statuses(phone.here, phone.there, ben.there)).toEqual(['signed-out', 'signed-out', 'signed-in'])
    await expect.poll(() => [...service.live]).toEqual(['refresh-3'])
    expect(rig.events).toContainEqual({ type: 'sessions_ended', scope: 'subject' })
  })

  test('needs a page of the app, and ends the session at hand if the token names no subject', async () => {
    const { signIn } = await twoProcesses()
    const [here, other] = [(await signIn('')).here, (await signIn('')).here]
    expect((await here.send('/auth/logout?everywhere', { method: 'POST' })).status).toBe(403)
    expect((await here.send('/auth/logout?everywhere', everywhere)).status).toBe(200)
    expect(await statuses(here, other)).toEqual(['signed-out', 'signed-in'])
  })
})

describe('endSession', () => {
  test('ends the session of a key in all processes, revokes its token and keeps the other sessions', async () => {
    const { rig, clock, service, signIn } = await twoProcesses()
    const [one, two] = [await signIn(), await signIn()]
    expect(await statuses(one.there)).toEqual(['signed-in'])
    expect(await rig.backend.endSession(await keyOf(rig, one.here))).toBe(true)
    expect(rig.events.at(-1)).toEqual({ type: 'sessions_ended', scope: 'session', revocation: 'done' })
    expect([...service.live]).toEqual(['refresh-2'])
    clock.advance(2_000)
    expect(await statuses(one.here, one.there, two.here)).toEqual(['signed-out', 'signed-out', 'signed-in'])
  })

  test('resolves to false, does nothing and emits nothing for a key without a session', async () => {
    const { rig, records } = await twoProcesses()
    expect(await rig.backend.endSession('web-unknown')).toBe(false)
    expect(rig.events).toEqual([])
    expect([...records]).toEqual([])
  })

  test('resolves to false and reports no ending for a session in memory that ended in another process', async () => {
    const { rig, clock, other, signIn } = await twoProcesses()
    const { here, there } = await signIn()
    expect(await statuses(there)).toEqual(['signed-in'])
    const key = await keyOf(rig, here)
    expect((await here.logOut()).status).toBe(200)
    clock.advance(2_000)
    expect(await other.endSession(key)).toBe(false)
    expect(rig.events.filter(({ type }) => type === 'sessions_ended')).toEqual([])
  })
})

describe.each<[name: string, call: (backend: Backend, key: unknown) => Promise<unknown>]>([
  ['endSession', (backend, key) => backend.endSession(key as string)],
  ['getSession', (backend, key) => backend.getSession({ key: key as string })],
])('the key of %s', (_, call) => {
  test('config_invalid for no text, an empty text, the cookie and a header with it; the session lives on', async () => {
    const { rig, signIn } = await twoProcesses()
    const { here } = await signIn()
    const wrong = [undefined, null, 7, '', here.session()[1], here.cookieHeader(), `a=b; ${here.cookieHeader()}`]
    for (const key of wrong)
      expect(await failure(() => call(rig.backend, key)), typeof key).toMatchObject({ code: 'config_invalid' })
    expect(await statuses(here)).toEqual(['signed-in'])
  })
})

describe('clocks of processes that are a minute apart', () => {
  test.each([60_000, -60_000])(
    'skew of %i ms: an ending ends the sessions of more than a minute ago, and none after it',
    async (skewMs) => {
      const { rig, clock, other, signIn } = await twoProcesses({ skewMs })
      const before = [await signIn('ada', rig.backend), await signIn('ada', other)]
      clock.advance(60_001)
      await other.endSessionsOf('ada')
      await rig.backend.endAll()
      const later = [await signIn('ada', rig.backend), await signIn('ada', other)]
      clock.advance(2_000)
      for (const { here, there } of before) expect(await statuses(here, there)).toEqual(['signed-out', 'signed-out'])
      for (const { here, there } of later) expect(await statuses(here, there)).toEqual(['signed-in', 'signed-in'])
    },
  )
})

describe('a storage that takes no writes', () => {
  test.each([
    ['endAll', (backend: Backend, _: string) => backend.endAll()],
    ['endSessionsOf', (backend: Backend) => backend.endSessionsOf('ada')],
    ['endSession', (backend: Backend, key: string) => backend.endSession(key)],
  ])('%s rejects, reports no ending, and ends the sessions when it is called again', async (_, end) => {
    const { rig, fault, signIn } = await twoProcesses()
    const { here, there } = await signIn()
    const key = await keyOf(rig, here)
    fault.writes = 'fail'
    const error = await failure(() => end(rig.backend, key))
    expect(error).toMatchObject({ code: 'storage_failed', retryable: true })
    expect(rig.events.filter(({ type }) => type === 'sessions_ended')).toEqual([])
    expect(await statuses(there)).toEqual(['signed-in'])
    fault.writes = 'work'
    await end(rig.backend, key)
    expect(await statuses(here)).toEqual(['signed-out'])
  })
})

test.each(['endAll', 'endSessionsOf'] as const)(
  'a refresh in progress in another process does not bring a session back after %s, and its new token is revoked',
  async (call) => {
    const { rig, clock, service, records, signIn } = await twoProcesses()
    const { here, there } = await signIn()
    expect(await statuses(there)).toEqual(['signed-in'])
    const held = gate()
    service.held = held.passed
    clock.advance(700_000)
    const refreshing = there.call()
    await expect.poll(() => [...service.live]).toEqual(['refresh-2'])
    await rig.backend[call]('ada')
    held.open()
    await refreshing
    clock.advance(2_000)
    expect(await statuses(here, there)).toEqual(['signed-out', 'signed-out'])
    await expect.poll(() => [...service.live]).toEqual([])
    await expect.poll(() => [...records.keys()].filter((name) => name.includes('web-'))).toEqual([])
    for (let round = 0; round < 3; round++) {
      clock.advance(6_000)
      expect(await statuses(here, there)).toEqual(['signed-out', 'signed-out'])
    }
  },
)
