// test/browser/backend-client.test.ts has what needs a real page.
import { createBackendClient } from 'agent-auth/backend/client'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  backendClientRig,
  claims,
  dayMs,
  failing,
  signedIn,
  signedOut,
  startMs,
  until,
} from '../support/backend-client-rig.ts'
import { codeOf } from '../support/session-rig.ts'
import { flush, virtualTime } from '../support/virtual-time.ts'

describe('state', () => {
  it('is loading, and then says who is signed in, until when and in which sign-in', async () => {
    const { client, page } = backendClientRig()
    expect(client.state).toEqual({ status: 'loading' })
    expect(await client.ready()).toEqual(signedIn)
    expect({ state: client.state, claims: client.claims, sessionState: client.session.state }).toEqual({
      state: signedIn,
      claims,
      sessionState: signedIn,
    })
    expect(page.requests).toEqual(['GET /auth/session*'])
  })

  it('stays the same object, and calls no listener, if a read brings nothing new', async () => {
    const { client, page } = backendClientRig()
    const before = await client.ready()
    const listener = vi.fn()
    client.subscribe(listener)
    page.dispatch('focus')
    await until(page.reads, 2)
    await flush()
    expect(client.state).toBe(before)
    expect(listener).not.toHaveBeenCalled()
  })

  it('calls each listener until its subscription ends, and ignores the errors of one', async () => {
    const rig = backendClientRig()
    await rig.client.ready()
    const [broken, first, second] = [vi.fn(() => void unknownFunction()), vi.fn(), vi.fn()]
    rig.client.subscribe(broken)
    const end = rig.client.subscribe(first)
    for (const listener of [first, second]) rig.client.subscribe(listener)
    end()
    rig.session = signedOut
    rig.page.dispatch('focus')
    await until(() => rig.client.state.status, 'signed-out')
    const calls = { broken: broken.mock.calls.length, first: first.mock.calls.length, second: second.mock.calls.length }
    expect(calls).toEqual({ broken: 1, first: 1, second: 1 })
  })

  it.each([
    ['focus', {}],
    ['visibilitychange', {}],
    ['pageshow', { persisted: true }],
  ])('is read again at %s, and says that the session is gone', async (type, members) => {
    const rig = backendClientRig()
    await rig.client.ready()
    rig.session = signedOut
    rig.page.dispatch(type, members)
    await until(() => rig.client.state, { status: 'signed-out', reason: 'store_lost' })
  })

  it('is not read again while the page is hidden, nor when it is first shown', async () => {
    const { client, page } = backendClientRig()
    await client.ready()
    page.dispatch('pageshow', { persisted: false })
    page.isHidden = true
    page.dispatch('visibilitychange')
    await flush()
    expect(page.reads()).toBe(1)
  })

  it('keeps the reason until the next sign-in', async () => {
    const rig = backendClientRig()
    await rig.client.ready()
    await rig.client.signOut()
    rig.page.dispatch('focus')
    await until(rig.page.reads, 2)
    await flush()
    expect(rig.client.state).toEqual({ status: 'signed-out', reason: 'signed_out' })
    rig.session = { ...signedIn, sessionRef: 'second' }
    rig.page.dispatch('focus')
    await until(() => rig.client.state, { ...signedIn, sessionRef: 'second' })
  })
})

/** Stands for a mistake in a listener. */
function unknownFunction(): never {
  throw new TypeError('a mistake of the app')
}

describe('the end of a session', () => {
  it('is noticed when its time has come, without an event', async () => {
    const time = virtualTime(startMs)
    const rig = backendClientRig()
    await rig.client.ready()
    await time.pass(dayMs)
    expect(rig.page.reads()).toBe(1)
    rig.session = signedOut
    await time.pass(501)
    expect(rig.client.state).toEqual({ status: 'signed-out', reason: 'expired' })
  })

  it('has moved if the session was used elsewhere: the page reads again at the time it knew', async () => {
    const time = virtualTime(startMs)
    const rig = backendClientRig({ ...signedIn, endsAtMs: startMs + 1_800_000 })
    await rig.client.ready()
    const moved = { ...signedIn, endsAtMs: startMs + 2_400_000 }
    rig.session = moved
    await time.pass(1_800_501)
    expect(rig.client.state).toEqual(moved)
    rig.session = signedOut
    await time.pass(600_000)
    expect(rig.client.state).toEqual({ status: 'signed-out', reason: 'expired' })
  })

  it('is not asked for in a loop by a clock that is an hour ahead', async () => {
    const time = virtualTime(startMs + dayMs - 1_000)
    const rig = backendClientRig()
    await rig.client.ready()
    await time.pass(3_600_000)
    expect(rig.page.reads()).toBeGreaterThan(2)
    expect(rig.page.reads()).toBeLessThan(16)
    expect(rig.client.state).toEqual(signedIn)
  })

  it('waits no longer than a timer can', async () => {
    const time = virtualTime(startMs)
    const rig = backendClientRig({ ...signedIn, endsAtMs: startMs + 400 * dayMs })
    await rig.client.ready()
    await time.pass(60_000)
    expect(rig.page.reads()).toBe(1)
  })
})

describe('a backend that cannot tell', () => {
  it.each([
    ['503', failing, 'storage_failed'],
    ['HTML', () => new Response('<p>Sign in to this network</p>'), 'temporarily_unavailable'],
    ['another JSON', () => Response.json({ status: 404, code: 'not_found' }), 'temporarily_unavailable'],
    ['null', () => new Response('null'), 'temporarily_unavailable'],
    ['no network', () => Promise.reject(new TypeError('Failed to fetch')), 'temporarily_unavailable'],
  ])('is asked again and is not signed out: %s', async (_, session, code) => {
    const time = virtualTime(startMs)
    const rig = backendClientRig(session)
    expect(await codeOf(rig.client.ready())).toBe(code)
    expect(rig.client.state).toEqual({ status: 'loading' })
    rig.session = signedIn
    await time.pass(500)
    expect(rig.client.state).toEqual(signedIn)
    rig.session = session
    rig.page.dispatch('focus')
    await flush()
    expect(rig.client.state).toEqual(signedIn)
    rig.session = signedOut
    await time.pass(500)
    expect(rig.client.state).toMatchObject(signedOut)
  })

  it('is asked less often the longer it fails, and at once by ready()', async () => {
    const time = virtualTime(startMs)
    const rig = backendClientRig(failing)
    await codeOf(rig.client.ready())
    await time.pass(600_000)
    expect(rig.page.reads()).toBeGreaterThan(18)
    expect(rig.page.reads()).toBeLessThan(32)
    rig.session = signedIn
    expect(await rig.client.ready()).toEqual(signedIn)
  })
})

describe('on a server', () => {
  it('is loading, sends nothing and never throws', async () => {
    const sent = vi.fn()
    vi.stubGlobal('fetch', sent)
    onTestFinished(() => void vi.unstubAllGlobals())
    const client = createBackendClient()
    expect(client.state).toEqual({ status: 'loading' })
    expect(await client.ready()).toEqual({ status: 'loading' })
    client.subscribe(() => {})()
    client.close()
    expect(sent).not.toHaveBeenCalled()
  })
})
