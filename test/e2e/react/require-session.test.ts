// @module-tag chromium

import type { BrowserContext, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildScript } from '../../browser/built-app.ts'
import { browserRig, untilTrue } from '../../browser/rig.ts'
import { reactAlias, reactMajors } from '../../support/react-versions.ts'
import type {} from './require-session-app.ts'

const rig = browserRig()
let script = ''

/** A profile in which the protected page takes the place of the test app, and every way to the login is written down. */
async function protectedContext(): Promise<{ context: BrowserContext; page: Page; authorizations: string[] }> {
  const context = await rig.context()
  await context.route('**/app.js', (route) => route.fulfill({ contentType: 'text/javascript', body: script }))
  const authorizations: string[] = []
  context.on(
    'requestfinished',
    (request) => void (/authorize\?/.test(request.url()) && authorizations.push(request.url())),
  )
  return { context, page: await context.newPage(), authorizations }
}

const shows = (page: Page, text: string): Promise<void> =>
  page.locator('main').getByText(text, { exact: true }).waitFor()

/** How many logins this tab has started: one that was started twice leaves a second entry. */
const loginsOf = (page: Page): Promise<number> =>
  page.evaluate(() => (JSON.parse(sessionStorage.getItem('agent-auth:login') ?? '[]') as unknown[]).length)

const decline = (context: BrowserContext): Promise<unknown> =>
  context.route(/\/auth\/v1\/authorize/, async (route) => {
    const callback = new URL(`${rig.origin}/memory/callback?error=access_denied`)
    callback.searchParams.set('state', new URL(route.request().url()).searchParams.get('state') ?? '')
    await route.fulfill({ status: 302, headers: { location: callback.href } })
  })

describe.each(reactMajors)('RequireSession in React %i', (major) => {
  beforeAll(async () => {
    script = await buildScript('../e2e/react/require-session-app.ts', reactAlias(major))
  })

  const inNewest = it.runIf(major === 19)

  it('signs in a signed-out user, once in development mode too, and returns to the requested page', async () => {
    const { page, authorizations } = await protectedContext()
    await page.goto(`${rig.origin}/memory/deep?tab=2#part`)
    await shows(page, 'protected')
    expect(page.url()).toBe(`${rig.origin}/memory/deep?tab=2#part`)
    expect(authorizations).toHaveLength(1)
    expect(await loginsOf(page)).toBe(1)
  })

  inNewest('starts one login when it is mounted for a user who is known to be signed out', async () => {
    const { page } = await protectedContext()
    await page.goto(`${rig.origin}/memory/deep?door`)
    await shows(page, 'signed-out')
    await page.click('#door')
    await shows(page, 'protected')
    expect(await loginsOf(page)).toBe(1)
  })

  inNewest('returnTo names another page to come back to', async () => {
    const { page } = await protectedContext()
    await page.goto(`${rig.origin}/memory/deep?to=${encodeURIComponent('/memory/other?tab=3')}`)
    await shows(page, 'protected')
    expect(page.url()).toBe(`${rig.origin}/memory/other?tab=3`)
  })

  inNewest(
    'shows a failed login, starts none by itself, and with a click comes back to the page asked for',
    async () => {
      const { context, page, authorizations } = await protectedContext()
      await decline(context)
      await page.goto(`${rig.origin}/memory/deep?tab=2`)
      await shows(page, 'failed login_denied')
      expect(authorizations).toHaveLength(1)
      await context.unrouteAll()
      await context.route('**/app.js', (route) => route.fulfill({ contentType: 'text/javascript', body: script }))
      await context.route(/\/auth\/v1\/authorize/, (route) => route.fulfill({ status: 204 }))
      await page.click('#in')
      await shows(page, 'loading')
      await context.unroute(/\/auth\/v1\/authorize/)
      await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })))
      await page.click('#in')
      await shows(page, 'protected')
      expect(page.url()).toBe(`${rig.origin}/memory/deep?tab=2`)
    },
  )

  it('after a sign-out it waits for a click', async () => {
    const { page, authorizations } = await protectedContext()
    await page.goto(`${rig.origin}/memory/deep`)
    await shows(page, 'protected')
    await page.click('#out')
    await shows(page, 'signed-out')
    expect(authorizations).toHaveLength(1)
    await page.click('#in')
    await shows(page, 'protected')
    expect(authorizations).toHaveLength(2)
  })

  inNewest('after a session that began while it was leaving for the login, it waits for a click too', async () => {
    const { context, page } = await protectedContext()
    await context.route(/\/auth\/v1\/authorize/, (route) => route.fulfill({ status: 204 }))
    await page.goto(`${rig.origin}/memory/deep`)
    await untilTrue(page, () => sessionStorage.getItem('agent-auth:login'))
    await shows(page, 'loading')
    await page.evaluate(() =>
      window.protectedAuth.session.signIn({ accessToken: 'of-another-login', obtainedAtMs: Date.now() }),
    )
    await shows(page, 'protected')
    await page.click('#out')
    await shows(page, 'signed-out')
  })

  inNewest('shows why a login cannot start', async () => {
    const { context, page } = await protectedContext()
    await context.addInitScript(() => {
      Storage.prototype.setItem = () => {
        throw new DOMException('full', 'QuotaExceededError')
      }
    })
    await page.goto(`${rig.origin}/memory/deep`)
    await shows(page, 'failed storage_failed')
    await page.click('#in')
    await shows(page, 'failed storage_failed')
  })

  inNewest(
    'a page that the browser kept, and to which the user came back from the login, waits for a click',
    async () => {
      const { context, page } = await protectedContext()
      let left = (): void => {}
      const leaving = new Promise<void>((resolve) => {
        left = resolve
      })
      // The browser stays at a page that is answered without content, as one that the user comes back to.
      await context.route(/\/auth\/v1\/authorize/, async (route) => {
        await route.fulfill({ status: 204 })
        left()
      })
      await page.goto(`${rig.origin}/memory/deep`)
      await leaving
      await shows(page, 'loading')
      await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: false })))
      await shows(page, 'loading')
      await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })))
      await shows(page, 'signed-out')
      await context.unroute(/\/auth\/v1\/authorize/)
      await page.click('#in')
      await shows(page, 'protected')
    },
  )
})
