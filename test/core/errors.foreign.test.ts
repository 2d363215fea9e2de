import { type Clock, exchangeCode, pendingLogins, readCallback, startLogin } from 'agent-auth'
import { describe, expect, test } from 'vitest'
import { testClock } from '../support/clock.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { configWith } from '../support/token-flow.ts'
import { json, word } from '../support/token-service.ts'
import { flush } from '../support/virtual-time.ts'

const mistake = new RangeError('a mistake in the program')

/** A clock whose wall reading fails once it is armed, as any code of the application may. */
function brokenClock() {
  const clock = testClock()
  const state = { isArmed: false }
  const broken: Clock = {
    wallMs() {
      if (state.isArmed) throw mistake
      return clock.wallMs()
    },
    monotonicMs: () => clock.monotonicMs(),
  }
  return { clock, state, broken }
}

describe('an error that is not of this library', () => {
  test('passes as itself through a refresh, which ends nothing and is not taken for an outage', async () => {
    const { clock, state, broken } = brokenClock()
    const { service, realm } = sessionRig(broken)
    const { session, eventsOf } = realm()
    await session.signIn(service.issue())
    clock.advance(3_600_000)
    service.answer(() => {
      state.isArmed = true
      return json(200, { access_token: word('access'), refresh_token: word('refresh') })
    })
    expect(await codeOf(session.getAccessToken())).toBe(mistake)
    state.isArmed = false
    expect(session.state.status).toBe('signed-in')
    expect(eventsOf('refresh_failed')).toEqual([])
    expect(service.sent).toHaveLength(1)
    expect(service.familyOf(await session.getAccessToken())).toBe(1)
  })

  test.each(['a look at the store', 'the look of a refresh'])('passes as itself through %s', async (where) => {
    const { clock, state, broken } = brokenClock()
    const { service, realm } = sessionRig(broken)
    const records = sharedRecords()
    let isArming = false
    const storage = records.handle({
      step: async () => {
        state.isArmed = isArming
      },
    })
    const [here, there] = [realm({ storage }), realm({ storage: records.handle() })]
    await here.session.signIn(service.issue())
    await there.session.resume()
    await there.session.getAccessToken({ forceRefresh: true })
    // A look of less than a second ago is not repeated, but the refresh looks for itself.
    if (where === 'the look of a refresh') await here.session.resume().then(flush)
    if (where === 'the look of a refresh') await there.session.getAccessToken({ forceRefresh: true })
    else clock.advance(2_000)
    isArming = true
    expect(await codeOf(here.session.getAccessToken({ forceRefresh: true }))).toBe(mistake)
    expect(here.session.state.status).toBe('signed-in')
  })

  test('passes as itself through an exchange', async () => {
    const { state, broken } = brokenClock()
    const config = configWith({
      clock: broken,
      fetch: async () => {
        state.isArmed = true
        return json(503, {})
      },
    })
    const { pending } = await startLogin(config)
    const grant = readCallback(pending, `/callback?code=c&state=${pending.state}`, { nowMs: broken.wallMs() })
    expect(await codeOf(exchangeCode(config, grant))).toBe(mistake)
  })

  test('passes as itself through the pending logins, while what a storage fails with does not', async () => {
    const { state, broken } = brokenClock()
    const config = configWith({
      clock: broken,
    })
    const { pending } = await startLogin(config)
    state.isArmed = true
    const records = sharedRecords()
    for (const lock of [true, false])
      expect(await codeOf(pendingLogins(records.handle({ lock }), config).save(pending))).toBe(mistake)
    state.isArmed = false
    const failing = records.handle({
      fault() {
        throw mistake
      },
    })
    expect(await codeOf(pendingLogins(failing, config).save(pending))).toBe('storage_failed')
    const unlockable = { ...records.handle(), withLock: () => Promise.reject(mistake) }
    expect(await codeOf(pendingLogins(unlockable, config).save(pending))).toBe('storage_failed')
  })
})

test('an error of the program in a pending write, for which no caller waits, is reported as write_failed', async () => {
  const { state, broken } = brokenClock()
  const { service, realm } = sessionRig(broken)
  const records = sharedRecords()
  let reads = 0
  const storage = records.handle({
    fault(operation) {
      // The second read is that under the lock. It finds another sign-in, whose age is asked of the clock.
      if (operation !== 'getItem' || ++reads !== 2) return
      records.put(JSON.stringify({ ...records.record(), id: 'another', signedInAtMs: Date.UTC(2100, 0) }))
      state.isArmed = true
    },
  })
  const here = realm({ storage })
  const tokens = service.issue()
  await here.session.signIn(tokens)
  records.put(JSON.stringify({ ...records.record(), rev: 0 }))
  reads = 0
  expect(await here.session.getAccessToken()).toBe(tokens.accessToken)
  await flush()
  expect(here.eventsOf('storage_degraded').map(({ reason }) => reason)).toEqual(['write_failed'])
})
