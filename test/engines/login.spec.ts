import { describe, expect, it } from 'vitest'
import { addressOf, call, engineRig, fillForms, goto, leave, reload, started, statusOf, tabAt, waitFor } from './rig.ts'

const rig = engineRig()
const exchanges = () => rig.requests({ grantType: 'authorization_code' }).length

describe('login', () => {
  it('a person signs in on the forms, calls the API, and comes back to where they were', async () => {
    rig.service.dev.autoApprove(undefined)
    const here = `${rig.app.origin}/memory/deep?tab=2#/part?x=1`
    const tab = await rig.open('/memory/deep?tab=2#/part?x=1')
    expect(await call(tab)).toBe('login_required')
    await tab.click('#redirect')
    await fillForms(tab, rig.service)
    await waitFor(tab, () => window.app?.started === 'signed-in')
    expect(await addressOf(tab)).toBe(here)
    expect(await call(tab)).toBe(200)
    expect(exchanges()).toBe(1)
  })

  it('a person signs in in a window, which then closes', async () => {
    rig.service.dev.autoApprove(undefined)
    const tab = await rig.open('/indexed/home?x=1')
    await tab.click('#popup')
    await fillForms(await tabAt(rig.profile, rig.service.authUrl), rig.service)
    expect(await waitFor(tab, () => window.app.started !== 'popup' && window.app.started)).toBe('resolved')
    await expect.poll(async () => (await rig.profile.tabs()).length, { timeout: 20_000 }).toBe(1)
    expect(await addressOf(tab)).toBe(`${rig.app.origin}/indexed/home?x=1`)
    expect(await call(tab)).toBe(200)
    expect(exchanges()).toBe(1)
  })

  it.each([
    ['memory', 'signed-out', 'signed-out'],
    ['session', 'signed-in', 'signed-out'],
    ['local', 'signed-in', 'signed-in'],
    ['indexed', 'signed-in', 'signed-in'],
  ] as const)('%s: after a reload the person is %s, in a new tab %s', async (kind, reloaded, elsewhere) => {
    const tab = await rig.signedIn(kind)
    expect(await statusOf(await rig.open(`/${kind}/home`))).toBe(elsewhere)
    expect(await reload(tab)).toBe(reloaded)
    expect(rig.requests({ grantType: 'refresh_token' })).toEqual([])
  })
})

describe('callback', () => {
  it('parameters leave the address before the network is awaited', async () => {
    const tab = await rig.open('/memory/home')
    rig.service.dev.addFault({ match: { path: '/auth/v1/token' }, effect: { delayMs: 3_000 } })
    await leave(tab)
    const atCallback = await waitFor(tab, () => {
      if (!location.pathname.endsWith('/callback') || !window.app) return ''
      return `${location.search} ${window.app.auth.session.state.status === 'signed-in'}`
    })
    expect(atCallback).toBe(' false')
    expect(await waitFor(tab, () => window.app?.started)).toBe('signed-in')
    expect(await addressOf(tab)).toBe(`${rig.app.origin}/memory/home`)
  })

  it('reloaded, gone back to and opened again: one exchange, no error', async () => {
    const tab = await rig.signedIn('indexed')
    const callback = rig.app.asked.find((url) => url.includes('/callback?')) ?? ''
    expect(callback).toContain('code=')
    expect(await reload(tab)).toBe('signed-in')
    await goto(tab, `${rig.app.origin}/indexed/next`)
    await tab.back()
    await waitFor(tab, () => location.pathname === '/indexed/home')
    expect(await started(tab)).toBe('signed-in')
    expect(await goto(tab, callback)).toBe('signed-in')
    expect(await addressOf(tab)).toBe(`${rig.app.origin}/indexed/callback`)
    expect(exchanges()).toBe(1)
  })

  it('a callback of a login that was not started here ends no session, and a foreign code is left alone', async () => {
    const tab = await rig.signedIn('indexed')
    const forged = `${rig.app.origin}/indexed/callback?state=redirect.${'A'.repeat(43)}`
    expect(await goto(tab, `${forged}&error=access_denied`)).toBe('signed-in')
    expect(await goto(tab, `${forged}&code=theirs`)).toBe('signed-in')
    const foreign = `${rig.app.origin}/indexed/coupon?code=SAVE10`
    expect(await goto(tab, foreign)).toBe('signed-in')
    expect(await addressOf(tab)).toBe(foreign)
    await goto(tab, `${rig.app.origin}/indexed/home`)
    expect(await call(tab)).toBe(200)
    expect(exchanges()).toBe(1)
  })
})
