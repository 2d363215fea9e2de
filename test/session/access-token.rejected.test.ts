import { describe, expect, test } from 'vitest'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { flush, virtualTime } from '../support/virtual-time.ts'

const hour = 3_600_000

describe('a refused token', () => {
  test('a 401 for a token that was replaced meanwhile gets the newer one without a request', async () => {
    const { clock, service, realm } = sessionRig()
    const { session } = realm()
    const tokens = service.issue()
    await session.signIn(tokens)
    clock.advance(hour)
    const newer = await session.getAccessToken()
    expect(await session.getAccessToken({ rejected: tokens.accessToken })).toBe(newer)
    expect(newer).not.toBe(tokens.accessToken)
    expect(service.sent).toHaveLength(1)
  })

  test('a 401 for a token just refreshed is the last word of the API: no second request within 30 s', async () => {
    const { clock, service, realm } = sessionRig()
    const { session } = realm()
    await session.signIn(service.issue())
    const first = await session.getAccessToken({ forceRefresh: true })
    expect(await session.getAccessToken({ rejected: first })).toBe(first)
    clock.advance(29_999)
    expect(await session.getAccessToken({ rejected: first })).toBe(first)
    expect(service.sent).toHaveLength(1)
    clock.advance(1)
    expect(await session.getAccessToken({ rejected: first })).not.toBe(first)
    expect(service.sent).toHaveLength(2)
  })

  test('session_changed for a token of the person before, without a request', async () => {
    const { service, realm } = sessionRig()
    const { session } = realm()
    const [first, second] = [service.issue(), service.issue()]
    await session.signIn(first)
    await session.signOut()
    await session.signIn(second)
    expect(await codeOf(session.getAccessToken({ rejected: first.accessToken }))).toBe('session_changed')
    expect(await session.getAccessToken()).toBe(second.accessToken)
    expect(service.sent).toHaveLength(0)
  })

  test('the same after a refresh and without a sign-out between', async () => {
    const { clock, service, realm } = sessionRig()
    const { session } = realm()
    await session.signIn(service.issue())
    clock.advance(hour)
    const firsts = await session.getAccessToken()
    await session.signIn(service.issue())
    expect(await codeOf(session.getAccessToken({ rejected: firsts }))).toBe('session_changed')
  })

  test('the same when another realm signed another user in', async () => {
    const { clock, service, realm } = sessionRig()
    const records = sharedRecords()
    const [here, there] = [realm({ storage: records.handle() }), realm({ storage: records.handle() })]
    const [first, second] = [service.issue(), service.issue()]
    await here.session.signIn(first)
    await there.session.signIn(second)
    clock.advance(1_000)
    expect(await codeOf(here.session.getAccessToken({ rejected: first.accessToken }))).toBe('session_changed')
    expect(await here.session.getAccessToken()).toBe(second.accessToken)
    expect(service.sent).toHaveLength(0)
  })

  test('the call that finds out about another realm’s sign-in is refused, the next one gets its token', async () => {
    const { clock, service, realm } = sessionRig()
    const records = sharedRecords()
    const [here, there] = [realm({ storage: records.handle() }), realm({ storage: records.handle() })]
    await here.session.signIn(service.issue())
    const second = service.issue()
    await there.session.signIn(second)
    clock.advance(1_000)
    expect(await codeOf(here.session.getAccessToken())).toBe('session_changed')
    expect(await here.session.getAccessToken()).toBe(second.accessToken)
  })

  test('a call that waits for the first person’s refresh never gets the second person’s token', async () => {
    const { clock, service, realm } = sessionRig()
    const { session } = realm()
    await session.signIn(service.issue())
    clock.advance(hour)
    const release = service.hold()
    const call = codeOf(session.getAccessToken())
    await flush()
    expect(service.sent).toHaveLength(1)
    const second = service.issue()
    await session.signIn(second)
    release()
    expect(await call).toBe('session_changed')
    expect(await session.getAccessToken()).toBe(second.accessToken)
  })

  test('nor does one that waits between two attempts', async () => {
    const time = virtualTime()
    const { service, realm } = sessionRig(time.clock)
    const { session } = realm()
    await session.signIn(service.issue())
    await time.pass(hour)
    service.answer(() => new Response(null, { status: 503 }))
    const call = codeOf(session.getAccessToken())
    await flush()
    expect(service.sent).toHaveLength(1)
    await session.signOut()
    await session.signIn(service.issue())
    expect(['session_changed', 'login_required']).toContain(await time.until(call))
    expect(service.sent).toHaveLength(1)
  })

  test('a wait between two attempts for the person before does not fail a refresh of the next one', async () => {
    const time = virtualTime()
    const { service, realm } = sessionRig(time.clock)
    let reads: (() => void)[] | undefined
    const { session } = realm({
      storage: sharedRecords().handle({
        step: (operation) =>
          reads && operation === 'getItem' ? new Promise((resolve) => void reads?.push(resolve)) : Promise.resolve(),
      }),
    })
    await session.signIn(service.issue())
    await time.pass(hour)
    service.answer(() => new Response(null, { status: 503 }))
    const first = codeOf(session.getAccessToken())
    await flush()
    expect(service.sent).toHaveLength(1)
    const tokens = service.issue()
    await session.signIn(tokens)
    reads = []
    // The wait ends, and whatever it begins hangs at its first look at the store.
    await time.pass(600)
    const second = codeOf(session.getAccessToken({ forceRefresh: true }))
    await flush()
    const held = reads
    reads = undefined
    for (const go of held) go()
    expect(await second).toEqual({ resolved: expect.not.stringMatching(`^${tokens.accessToken}$`) })
    expect(await first).toBe('session_changed')
  })

  test('nor does one whose refresh is refused while another realm signs another user in', async () => {
    const { clock, service, realm } = sessionRig()
    const records = sharedRecords()
    const [here, there] = [
      realm({ storage: records.handle({ lock: false }) }),
      realm({ storage: records.handle({ lock: false }) }),
    ]
    const first = service.issue()
    await here.session.signIn(first)
    clock.advance(hour)
    service.revoke(service.familyOf(first.refreshToken))
    const release = service.hold()
    const call = codeOf(here.session.getAccessToken())
    await flush()
    const second = service.issue()
    await there.session.signIn(second)
    release()
    expect(await call).toBe('session_changed')
    expect(await here.session.getAccessToken()).toBe(second.accessToken)
  })
})
