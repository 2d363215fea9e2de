// @module-tag chromium

import type { BrowserContext, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildScript } from '../../browser/built-app.ts'
import { holdTokenResponse } from '../../browser/held-response.ts'
import { browserRig, untilTrue } from '../../browser/rig.ts'
import { reactAlias, reactMajors } from '../../support/react-versions.ts'
import type {} from './react-app.ts'

const rig = browserRig()
let script = ''

/** A profile in which the React app takes the place of the test app. */
async function reactContext(): Promise<BrowserContext> {
  const context = await rig.context()
  await context.route('**/app.js', (route) => route.fulfill({ contentType: 'text/javascript', body: script }))
  return context
}

const decline = (context: BrowserContext): Promise<unknown> =>
  context.route(/\/auth\/v1\/authorize/, async (route) => {
    const callback = new URL(`${rig.origin}/memory/callback?error=access_denied`)
    callback.searchParams.set('state', new URL(route.request().url()).searchParams.get('state') ?? '')
    await route.fulfill({ status: 302, headers: { location: callback.href } })
  })

const rendered = (page: Page): Promise<string[]> => page.evaluate(() => window.react.rendered)

describe.each(reactMajors)('React %i', (major) => {
  beforeAll(async () => {
    script = await buildScript('../e2e/react/react-app.ts', reactAlias(major))
  })

  it('a call made as the callback page is mounted, before ready(), waits for the login', async () => {
    const context = await reactContext()
    const page = await context.newPage()
    await page.goto(`${rig.origin}/memory/home`)
    // Development mode mounts twice.
    const bothCalls = async (): Promise<string[]> => {
      await untilTrue(page, () => window.react?.calls.length === 2)
      return page.evaluate(() => window.react.calls)
    }
    expect(await bothCalls()).toEqual(['login_required', 'login_required'])
    await page.evaluate(() => {
      window.react.calls.length = 0
      return window.react.auth.signIn()
    })
    expect(await bothCalls()).toEqual(['200', '200'])
  })

  // What follows does not depend on the version of React.
  if (major === 18) return

  it('a component that signs in a signed-out user by itself first learns that a login has failed', async () => {
    const context = await reactContext()
    await decline(context)
    const page = await context.newPage()
    const authorizations: string[] = []
    page.on('request', (request) => void (/authorize/.test(request.url()) && authorizations.push(request.url())))
    await page.goto(`${rig.origin}/memory/home?guard`)
    await page.getByText('login_denied').waitFor()
    expect(await rendered(page)).toEqual(['loading', 'signed-out login_denied'])
    expect(authorizations).toHaveLength(1)
  })

  it('an error is a thing of the past once somebody was signed in, and after their sign-out too', async () => {
    const context = await reactContext()
    await decline(context)
    const page = await context.newPage()
    await page.goto(`${rig.origin}/memory/home?guard`)
    await page.getByText('login_denied').waitFor()
    await context.unrouteAll()
    await page.click('#window')
    await page.getByText('signed-in').waitFor()
    await page.evaluate(() => {
      window.react.rendered.length = 0
      sessionStorage.removeItem('guard')
      return window.react.auth.signOut()
    })
    await page.getByText('signed-out').waitFor()
    expect((await rendered(page))[0]).toBe('signed-out')
  })

  it('a sign-out while StrictMode has the callback finished twice shows a signed-out user and no error', async () => {
    const context = await reactContext()
    const page = await context.newPage()
    await page.goto(`${rig.origin}/memory/home`)
    await page.getByText('signed-out').waitFor()
    const held = await holdTokenResponse(page)
    await page.evaluate(() => window.react.auth.signIn())
    await held.reached
    await page.evaluate(() => window.react.auth.signOut())
    await page.getByText('signed-out').waitFor()
    await held.answer()
    await untilTrue(page, () => window.react.calls.length === 2)
    expect(await page.evaluate(() => window.react.calls)).toEqual(['login_required', 'login_required'])
    expect(await rendered(page)).toEqual(['loading', 'signed-out'])
  })
})
