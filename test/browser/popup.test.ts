// @module-tag chromium

import type { BrowserContext, Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { holdTokenResponse } from './held-response.ts'
import { browserRig, call, fillForms, started, statusOf, untilTrue } from './rig.ts'

const rig = browserRig()

/** Makes every page of the service cut the tie to the window that opened it. */
const isolate = (context: BrowserContext): Promise<unknown> =>
  context.route(`${rig.service.authUrl}/**`, async (route) => {
    const response = await route.fetch({ maxRedirects: 0 })
    await route.fulfill({ response, headers: { ...response.headers(), 'cross-origin-opener-policy': 'same-origin' } })
  })

/** Clicks for a popup and waits until the window shows the service's form. */
async function openPopup(page: Page): Promise<Page> {
  const opened = page.context().waitForEvent('page')
  await page.click('#popup')
  const popup = await opened
  await popup.waitForSelector('[name=email]')
  return popup
}

/** What the popup login of the page came to. */
async function outcome(page: Page): Promise<string> {
  await untilTrue(page, () => window.app.started !== 'popup')
  return page.evaluate(() => window.app.started)
}

it.each(['alone', 'isolated by COOP'])('a user signs in in a window, %s, which then closes', async (how) => {
  rig.service.dev.autoApprove(undefined)
  const context = await rig.context()
  if (how !== 'alone') await isolate(context)
  const page = await rig.open(context, '/indexed/home?x=1')
  const popup = await openPopup(page)
  expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }))).toBe('{}')
  expect(await popup.evaluate(() => window.opener)).toBeNull()
  const closed = popup.waitForEvent('close')
  await fillForms(popup, rig.service, 'approve')
  expect(await outcome(page)).toBe('resolved')
  await closed
  expect(page.url()).toBe(`${rig.origin}/indexed/home?x=1`)
  expect(await statusOf(page)).toBe('signed-in')
  expect(await call(page)).toBe(200)
  expect(rig.tokenRequests('authorization_code')).toBe(1)
})

it('a denied login in a window is told as such', async () => {
  rig.service.dev.autoApprove(undefined)
  const page = await rig.open(await rig.context(), '/memory/home')
  const popup = await openPopup(page)
  await fillForms(popup, rig.service, 'deny')
  expect(await outcome(page)).toBe('login_denied')
  expect(await statusOf(page)).toBe('signed-out')
})

it('a blocked window is told at once, and nothing is left behind', async () => {
  const context = await rig.context()
  await context.addInitScript(() => {
    window.open = () => null
    const channels = Object.assign(window, { closedChannels: [] as string[] }).closedChannels
    window.BroadcastChannel = class extends BroadcastChannel {
      override close(): void {
        channels.push(this.name)
        super.close()
      }
    }
  })
  const page = await rig.open(context, '/memory/home')
  await page.click('#popup')
  expect(await outcome(page)).toBe('popup_blocked')
  const closedChannels = await page.evaluate(() => (window as unknown as { closedChannels: string[] }).closedChannels)
  expect(closedChannels).toEqual([expect.stringMatching(/:popup$/)])
  expect(await page.evaluate(() => ({ ...sessionStorage, ...localStorage }))).toEqual({})
})

it('a browser that blocks BroadcastChannel with the site data opens no window and says so at once', async () => {
  const context = await rig.context()
  await context.addInitScript(() => {
    window.BroadcastChannel = class {
      constructor() {
        throw new DOMException('The operation is insecure.', 'SecurityError')
      }
    } as unknown as typeof BroadcastChannel
  })
  const page = await rig.open(context, '/memory/home')
  await page.click('#popup')
  expect(await outcome(page)).toBe('popup_blocked')
  expect(context.pages()).toEqual([page])
})

/** Opens the window and closes it once the page can tell that from a window that is isolated by COOP. */
async function openAndClose(context: BrowserContext): Promise<Page> {
  rig.service.dev.autoApprove(undefined)
  await context.addInitScript(() => {
    const { setInterval } = window
    const counted = Object.assign(window, { looks: 0 })
    window.setInterval = ((look: () => void, ms: number) =>
      setInterval(() => {
        look()
        counted.looks++
      }, ms)) as typeof window.setInterval
  })
  const page = await rig.open(context, '/memory/home')
  const popup = await openPopup(page)
  // The page has looked at the window twice since the form was there.
  const looks = await page.evaluate(() => (window as unknown as { looks: number }).looks)
  await untilTrue(page, (before) => (window as unknown as { looks: number }).looks > before + 2, looks)
  await popup.close()
  return page
}

it.each(['', '<img name="hasFocus">'])(
  'a window that the user closes ends the login with popup_closed %s',
  async (html) => {
    rig.app.rendered = html
    const context = await rig.context()
    context.setDefaultTimeout(30_000)
    expect(await outcome(await openAndClose(context))).toBe('popup_closed')
  },
)

it('an isolated window that the user closes ends in a time-out', async () => {
  rig.service.dev.autoApprove(undefined)
  const context = await rig.context()
  await isolate(context)
  const page = await context.newPage()
  await page.clock.install()
  await page.goto(`${rig.origin}/memory/home`)
  await started(page)
  const popup = await openPopup(page)
  await popup.close()
  // Longer than it waits for a window.
  await page.clock.fastForward(600_000)
  expect(await outcome(page)).toBe('timeout')
})

it('the caller can end the wait, and a second login takes the first one’s place', async () => {
  rig.service.dev.autoApprove(undefined)
  const context = await rig.context()
  const page = await rig.open(context, '/memory/home')
  const aborted = await page.evaluate(() => {
    const controller = new AbortController()
    const login = window.app.auth.signIn({ mode: 'popup', signal: controller.signal })
    setTimeout(() => controller.abort(), 50)
    return window.app.codeOf(login)
  })
  expect(aborted).toBe('aborted')
  await openPopup(page)
  rig.service.dev.autoApprove('ada@demo.example')
  const first = await page.evaluate(async () => {
    const [one] = [window.app.started, await window.app.codeOf(window.app.auth.signIn({ mode: 'popup' }))]
    return one
  })
  expect(first).toBe('popup')
  expect(await outcome(page)).toBe('aborted')
  expect(await statusOf(page)).toBe('signed-in')
})

it('a signal that has fired already opens no window, and leaves the login in progress alone', async () => {
  rig.service.dev.autoApprove(undefined)
  const context = await rig.context()
  const page = await rig.open(context, '/memory/home')
  const popup = await openPopup(page)
  const opened: Page[] = []
  context.on('page', (each) => opened.push(each))
  const code = await page.evaluate(() =>
    window.app.codeOf(window.app.auth.signIn({ mode: 'popup', signal: AbortSignal.abort() })),
  )
  expect(code).toBe('aborted')
  await fillForms(popup, rig.service, 'approve')
  expect(await outcome(page)).toBe('resolved')
  expect(opened).toEqual([])
})

it('a sign-out after the window has handed over its callback ends the login without a session', async () => {
  const page = await rig.open(await rig.context(), '/indexed/home')
  const held = await holdTokenResponse(page)
  await page.click('#popup')
  await held.reached
  await page.evaluate(() => window.app.auth.signOut())
  expect(await outcome(page)).toBe('aborted')
  await held.answer()
  expect(await call(page)).toBe('login_required')
  await page.reload()
  expect(await started(page)).toBe('signed-out')
})

it('a sign-out while the window is open leaves the user, who goes on there, free to sign in', async () => {
  rig.service.dev.autoApprove(undefined)
  const page = await rig.open(await rig.context(), '/indexed/home')
  const popup = await openPopup(page)
  await page.evaluate(() => window.app.auth.signOut())
  await fillForms(popup, rig.service, 'approve')
  expect(await outcome(page)).toBe('resolved')
  expect(await call(page)).toBe(200)
})

it('a window whose opener is gone says so instead of waiting', async () => {
  rig.service.dev.autoApprove(undefined)
  const page = await rig.open(await rig.context(), '/memory/home')
  const popup = await openPopup(page)
  await page.close()
  await fillForms(popup, rig.service, 'approve')
  await popup.waitForURL(`${rig.origin}/memory/callback`)
  expect(await started(popup)).toBe('flow_not_found')
  expect(rig.tokenRequests('authorization_code')).toBe(0)
})
