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
    const signedIn = session.signIn(second)
    release()
    await signedIn
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
})
