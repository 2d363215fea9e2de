import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { gate } from '../support/gate.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { word } from '../support/token-service.ts'
import { flush, virtualTime } from '../support/virtual-time.ts'

const hour = 3_600_000

describe('one refresh', () => {
  test('1,000 concurrent calls with an expired token make 1 refresh and 1,000 successes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), async (scheduler) => {
        const travel = (what: string): Promise<void> => scheduler.schedule(Promise.resolve(), what)
        const { clock, service, realm } = sessionRig(undefined, { token: word, travel })
        const records = sharedRecords()
        const step = (operation: string): Promise<void> => scheduler.schedule(Promise.resolve(), operation)
        const { session } = realm({ storage: records.handle({ step }) })
        await scheduler.waitFor(session.signIn(service.issue()))
        clock.advance(hour)
        const calls = Array.from({ length: 1_000 }, (_, index) =>
          index % 2
            ? scheduler.schedule(Promise.resolve()).then(() => session.getAccessToken())
            : session.getAccessToken(),
        )
        const answers = new Set(await scheduler.waitFor(Promise.all(calls)))
        expect(service.sent).toHaveLength(1)
        expect([...answers]).toEqual([records.record()?.accessToken])
      }),
      { numRuns: 5 },
    )
  })

  test('forced, refused and expired calls at once share one refresh', async () => {
    const { clock, service, realm } = sessionRig()
    const { session } = realm()
    const { accessToken, ...rest } = service.issue()
    await session.signIn({ accessToken, ...rest })
    clock.advance(hour)
    const options = [{}, { forceRefresh: true }, { rejected: accessToken }, { minValidMs: 1_000 }]
    const answers = await Promise.all(options.map((option) => session.getAccessToken(option)))
    expect(new Set(answers).size).toBe(1)
    expect(service.sent).toHaveLength(1)
  })

  test('a token refused by the API is not sent to refresh again when another realm replaced it', async () => {
    const { service, realm } = sessionRig()
    const records = sharedRecords()
    const [here, there] = [realm({ storage: records.handle() }), realm({ storage: records.handle() })]
    const tokens = service.issue()
    await here.session.signIn(tokens)
    await there.session.ready()
    const newer = await there.session.getAccessToken({ forceRefresh: true })
    expect(await here.session.getAccessToken({ rejected: tokens.accessToken })).toBe(newer)
    expect(service.sent).toHaveLength(1)
  })
})

describe('one commit', () => {
  test('a call that waits for a refresh gets the new token when it is stored', async () => {
    const { clock, service, realm } = sessionRig()
    const records = sharedRecords()
    const stored = gate()
    let slow = false
    const step = (operation: string): Promise<void> =>
      slow && operation === 'setItem' ? stored.passed : Promise.resolve()
    const { session, told } = realm({ storage: records.handle({ step }) })
    const tokens = service.issue()
    await session.signIn(tokens)
    clock.advance(hour)
    slow = true
    let got: string | undefined
    const call = session.getAccessToken().then((token) => {
      got = token
    })
    await flush()
    await flush()
    expect(service.history.at(-1)).toEqual({ event: 'delivered', call: 1 })
    expect(records.record()).toMatchObject({ refreshToken: tokens.refreshToken })
    expect(got).toBeUndefined()
    stored.open()
    await call
    expect(got).toBe(records.record()?.accessToken)
    expect(told.filter((status) => status === 'signed-in')).toHaveLength(2)
  })
})

describe('without a lock over the realms, as localStorage in two tabs', () => {
  const twoTabs = async (reuse: 'refuse' | 'grace') => {
    const time = virtualTime()
    const { service, realm } = sessionRig(time.clock, { reuse })
    const records = sharedRecords()
    const tabs = [1, 2].map(() => realm({ storage: records.handle({ lock: false }) }))
    const [one, two] = tabs
    if (!one || !two) throw new Error('There are two tabs.')
    await one.session.signIn(service.issue())
    await two.session.ready()
    await time.pass(hour)
    return { time, service, records, one, two, tabs }
  }

  test('a call of a sign-in that another tab has saved does not share the refresh of the sign-in before it', async () => {
    const { service, one, two } = await twoTabs('refuse')
    const release = service.hold()
    const before = codeOf(one.session.getAccessToken())
    await flush()
    const next = service.issue()
    await two.session.signIn(next)
    await one.session.resume()
    const call = codeOf(one.session.getAccessToken({ forceRefresh: true }))
    await flush()
    expect(service.sent.at(-1)).toBe(next.refreshToken)
    release()
    expect(await before).toBe('session_changed')
    expect(await call).toEqual({ resolved: await one.session.getAccessToken() })
    expect(one.session.state.sessionRef).toBe(two.session.state.sessionRef)
  })

  test('the loser of a race that gets invalid_grant adopts the winner’s tokens', async () => {
    const { time, service, records, one, two, tabs } = await twoTabs('refuse')
    const release = service.hold()
    const calls = [one.session.getAccessToken(), two.session.getAccessToken()]
    await flush()
    expect(new Set(service.sent).size).toBe(1)
    expect(service.sent).toHaveLength(2)
    release()
    const [first, second] = await time.until(Promise.all(calls))
    expect(second).toBe(first)
    expect(records.record()).toMatchObject({ accessToken: first, rev: 2 })
    for (const { session, eventsOf } of tabs) {
      expect(session.state.status).toBe('signed-in')
      expect(eventsOf('session_ended')).toEqual([])
    }
  })

  test('a real refusal removes only the record that was refused', async () => {
    const { time, service, records, one, two } = await twoTabs('refuse')
    service.revoke(1)
    const release = service.hold()
    const refused = codeOf(one.session.getAccessToken())
    await flush()
    const next = service.issue()
    await two.session.signIn(next)
    release()
    expect(await time.until(refused)).toBe('session_changed')
    expect(records.record()).toMatchObject({ refreshToken: next.refreshToken })
  })

  test('20 tabs race for several lifetimes and no user is logged out', async () => {
    const time = virtualTime()
    const { service, realm } = sessionRig(time.clock, { reuse: 'refuse' })
    const records = sharedRecords()
    const tabs = Array.from({ length: 20 }, () => realm({ storage: records.handle({ lock: false }) }))
    await tabs[0]?.session.signIn(service.issue())
    for (let round = 0; round < 5; round++) {
      await time.pass(hour)
      const answers = new Set(await time.until(Promise.all(tabs.map(({ session }) => session.getAccessToken()))))
      expect([...answers]).toEqual([records.record()?.accessToken])
    }
    expect(tabs.flatMap(({ eventsOf }) => eventsOf('session_ended'))).toEqual([])
  })

  test('a refusal without newer tokens of another tab ends the session once the wait is over', async () => {
    const { time, service, records, one, two } = await twoTabs('refuse')
    service.revoke(1)
    expect(await time.until(codeOf(one.session.getAccessToken()))).toBe('session_ended')
    expect(records.items.size).toBe(0)
    expect(await codeOf(two.session.getAccessToken())).toBe('login_required')
    expect(one.eventsOf('session_ended')).toEqual([{ type: 'session_ended', reason: 'refused' }])
    expect(two.eventsOf('session_ended')).toEqual([{ type: 'session_ended', reason: 'store_lost' }])
    expect(service.sent).toHaveLength(1)
  })

  test('a refusal after a sign-out elsewhere removes nothing, because a later sign-in may be stored by then', async () => {
    const { clock, service, realm } = sessionRig()
    const records = sharedRecords()
    const operations: string[] = []
    const { session } = realm({ storage: records.handle({ lock: false, fault: (what) => void operations.push(what) }) })
    await session.signIn(service.issue())
    clock.advance(hour)
    service.revoke(1)
    const release = service.hold()
    const call = codeOf(session.getAccessToken())
    await flush()
    records.items.clear()
    release()
    expect(await call).toBe('session_ended')
    expect(session.state).toEqual({ status: 'signed-out', reason: 'store_lost' })
    expect(operations).not.toContain('removeItem')
  })

  test.each([
    ['proactive', hour - 30_000],
    ['required', hour],
  ])('a %s refresh that fails returns the newer tokens that another tab has stored meanwhile', async (_, ageMs) => {
    const failed = gate()
    const { clock, service, realm } = sessionRig(undefined, { travel: () => failed.passed })
    const records = sharedRecords()
    const { session } = realm({ storage: records.handle({ lock: false }) })
    await session.signIn(service.issue())
    clock.advance(ageMs)
    service.usually('unreachable')
    const call = session.getAccessToken()
    await flush()
    expect(service.sent).toHaveLength(1)
    const { accessToken, obtainedAtMs, expiresAtMs } = service.issue()
    records.put(JSON.stringify({ ...records.record(), rev: 2, accessToken, obtainedAtMs, expiresAtMs }))
    expect(await session.getAccessToken()).toBe(accessToken)
    failed.open()
    expect(await call).toBe(accessToken)
  })
})
