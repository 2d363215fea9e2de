import { createServer } from 'node:http'
import type { BrowserContext, Frame, Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listen } from '../support/listen.ts'
import { holdTokenResponse } from './held-response.ts'
import { browserRig, call, fillForms, signIn, started, statusOf, untilStatus, untilTrue } from './rig.ts'

const rig = browserRig()

/** Starts a login and stops the browser just before it would come back; returns where it would have been sent. */
async function interrupted(page: Page): Promise<string> {
  let address = ''
  const pattern = /\/auth\/v1\/authorize\?/
  await page.route(pattern, async (route) => {
    const { headers } = await fetch(route.request().url(), { redirect: 'manual' })
    await route.fulfill({ status: 204 })
    address = headers.get('location') ?? ''
  })
  await page.evaluate(() => window.app.auth.signIn())
  await expect.poll(() => address).not.toBe('')
  await page.unroute(pattern)
  return address
}

/** The page of a callback whose exchange waits for `answer`. */
async function finishing(context: BrowserContext, kind: 'indexed' | 'memory' | 'session') {
  const page = await rig.open(context, `/${kind}/home`)
  const callback = await interrupted(page)
  const { reached, answer } = await holdTokenResponse(page)
  await page.goto(callback)
  return { page, reached, answer }
}

async function goto(page: Page, url: string): Promise<string> {
  await page.goto(url)
  return started(page)
}

const stopOf = (context: BrowserContext): Promise<string> =>
  new Promise((resolve) => void context.exposeBinding('guardStopped', (_, code: string) => resolve(code)))

describe('login', () => {
  it('a user signs in on the forms, returns to the page of before, and calls the API', async () => {
    rig.service.dev.autoApprove(undefined)
    const page = await rig.open(await rig.context(), '/memory/deep?tab=2#/part?x=1')
    expect(await call(page)).toBe('login_required')
    await page.click('#redirect')
    await fillForms(page, rig.service, 'approve')
    await page.waitForURL(`${rig.origin}/memory/deep?tab=2#/part?x=1`)
    expect(await started(page)).toBe('signed-in')
    expect(await call(page)).toBe(200)
    expect(rig.tokenRequests('authorization_code')).toBe(1)
    await page.evaluate(() => window.app.auth.signOut())
    expect(await statusOf(page)).toBe('signed-out')
    expect(await call(page)).toBe('login_required')
  })

  it('a denied login fails each ready() with login_denied and keeps the return URL for the next login', async () => {
    rig.service.dev.autoApprove(undefined)
    const page = await rig.open(await rig.context(), '/memory/wanted?a=1')
    await page.click('#redirect')
    await fillForms(page, rig.service, 'deny')
    await page.waitForURL(`${rig.origin}/memory/callback`)
    expect(await started(page)).toBe('login_denied')
    const denied = await page.evaluate(() =>
      window.app.auth.ready().catch(({ code, details }) => ({ code, returnTo: details.returnTo as string })),
    )
    expect(denied).toEqual({ code: 'login_denied', returnTo: '/memory/wanted?a=1' })
    expect(rig.tokenRequests('authorization_code')).toBe(0)
    rig.service.dev.autoApprove('ada@demo.example')
    await signIn(page)
    expect(page.url()).toBe(`${rig.origin}/memory/wanted?a=1`)
  })

  it('a target off this origin becomes the front page', async () => {
    const page = await rig.open(await rig.context(), '/memory/home')
    for (const hostile of ['/..//evil.example', '//evil.example', '/\\evil.example', 'https://evil.example/']) {
      await signIn(page, hostile)
      expect(page.url()).toBe(`${rig.origin}/`)
    }
  })

  it('logins of two tabs succeed, finished in reverse order', async () => {
    const context = await rig.context()
    const [first, second] = [await rig.open(context, '/memory/1'), await rig.open(context, '/memory/2')]
    const [one, two] = [await interrupted(first), await interrupted(second)]
    expect(await goto(second, two)).toBe('signed-in')
    expect(await goto(first, one)).toBe('signed-in')
    expect([first.url(), second.url()]).toEqual([`${rig.origin}/memory/1`, `${rig.origin}/memory/2`])
  })

  it('of two logins of one tab, the first one left, either can be finished', async () => {
    const page = await rig.open(await rig.context(), '/memory/1')
    const one = await interrupted(page)
    await goto(page, `${rig.origin}/memory/2`)
    await interrupted(page)
    expect(await goto(page, one)).toBe('signed-in')
    expect(page.url()).toBe(`${rig.origin}/memory/1`)
  })

  it('an app that signs in by itself is stopped at its third try in five minutes', async () => {
    const context = await rig.context()
    // Nothing is evaluated in the page meanwhile: that counts as a click.
    const outcome = stopOf(context)
    await context.addInitScript(() => {
      window.adjust = (options) => ({ ...options, scope: 'nothing.known' })
    })
    let authorizations = 0
    context.on('request', (request) => {
      if (request.isNavigationRequest() && request.url().includes('/authorize?')) authorizations++
    })
    const page = await context.newPage()
    await page.goto(`${rig.origin}/memory/home`)
    expect(await outcome).toBe('login_failed')
    expect(authorizations).toBe(2)
    // A click is not counted, and a success starts the count again.
    await context.addInitScript(() => {
      delete window.adjust
    })
    await page.reload()
    await page.click('#redirect')
    await untilTrue(page, () => window.app?.started === 'signed-in')
    expect(await page.evaluate(() => sessionStorage.getItem('agent-auth:automatic'))).toMatch(/^\d+ \d+\+\d+$/)
  })

  it('an app that loses each login by leaving its page at once is stopped as well', async () => {
    const context = await rig.context()
    const outcome = stopOf(context)
    await context.addInitScript(() => {
      window.adjust = (options) => ({ ...options, navigate: (path) => location.replace(path) })
    })
    const page = await context.newPage()
    await page.goto(`${rig.origin}/memory/home`)
    expect(await outcome).toBe('login_failed')
    expect(rig.tokenRequests('authorization_code')).toBe(2)
  })

  it('without a storage for the pending login the page stays', async () => {
    const context = await rig.context()
    await context.addInitScript(() => {
      const blocked = {
        get: () => {
          throw new DOMException('blocked', 'SecurityError')
        },
      }
      Object.defineProperty(window, 'sessionStorage', blocked)
    })
    const page = await context.newPage()
    await page.goto(`${rig.origin}/memory/home`)
    expect(await started(page)).toBe('signed-out')
    const failure = await page.evaluate(() =>
      window.app.auth.signIn().catch(({ code, message }) => ({ code, message })),
    )
    expect(failure).toEqual({ code: 'storage_failed', message: expect.stringMatching(/sessionStorage.*loginStorage/) })
    expect(page.url()).toBe(`${rig.origin}/memory/home`)
  })

  it.each(['redirect', 'popup'] as const)('with a redirect URI of another origin the page stays, %s', async (mode) => {
    const context = await rig.context()
    const elsewhere = rig.origin.replace('127.0.0.1', 'localhost')
    await context.addInitScript((origin) => {
      window.adjust = (options) => ({ ...options, redirectUri: `${origin}/memory/callback` })
    }, elsewhere)
    const page = await context.newPage()
    await page.goto(`${rig.origin}/memory/home`)
    expect(await started(page)).toBe('signed-out')
    const failure = await page.evaluate(
      (wanted) => window.app.auth.signIn({ mode: wanted }).catch(({ code, message }) => ({ code, message })),
      mode,
    )
    expect(failure).toEqual({
      code: 'config_invalid',
      message: `Configuration: redirectUri is on ${elsewhere}, but this page on ${rig.origin}. Open the app there, or change redirectUri.`,
    })
    expect(page.url()).toBe(`${rig.origin}/memory/home`)
    expect(context.pages()).toHaveLength(1)
  })

  it('a page over plain http is refused before anything is stored or opened', async () => {
    const context = await rig.context()
    const served = await (await fetch(`${rig.origin}/memory/home`)).text()
    await context.route('http://app.example/**', async (route) => {
      const isScript = route.request().url().endsWith('.js')
      const body = isScript ? await (await fetch(`${rig.origin}/app.js`)).text() : served
      await route.fulfill({ body, contentType: isScript ? 'text/javascript' : 'text/html' })
    })
    const page = await context.newPage()
    await context.addInitScript(() => {
      addEventListener('error', (event) => {
        document.title = `${event.error?.code} ${event.error?.message}`
        event.preventDefault()
      })
    })
    await page.goto('http://app.example/memory/home')
    await untilTrue(page, () => document.title !== 'App')
    expect(await page.title()).toMatch(/^insecure_context /)
    expect(await page.evaluate(() => ({ ...localStorage, ...sessionStorage }))).toEqual({})
  })
})

describe('callback', () => {
  it('parameters leave the address before the network is awaited; query, hash and history state stay', async () => {
    const context = await rig.context()
    const page = await rig.open(context, '/memory/home')
    const callback = await interrupted(page)
    await context.addInitScript(() => {
      history.replaceState({ k: 1 }, '')
      window.adjust = (options) => ({ ...options, navigate: () => {} })
    })
    const held = await holdTokenResponse(page)
    await page.goto(`${callback}&tab=2&q=a%20b&scope=x#/x?y=1`)
    await held.reached
    const shown = { href: `${rig.origin}/memory/callback?tab=2&q=a%20b#/x?y=1`, state: { k: 1 } }
    const look = () => page.evaluate(() => ({ href: location.href, state: history.state as unknown }))
    expect(await look()).toEqual(shown)
    expect(await statusOf(page)).not.toBe('signed-in')
    await held.answer()
    expect(await started(page)).toBe('signed-in')
    expect(await look()).toEqual(shown)
  })

  it.each([
    ['another page', '/memory/coupon?code=SAVE10&state=foreign'],
    ['the redirect URI, a foreign state', '/memory/callback?code=1&state=foreign'],
    ['the redirect URI, no state', '/memory/callback?code=1'],
    ['the redirect URI, an error without state', '/memory/callback?error=access_denied'],
  ])('%s: a code or error of another origin stays in the address', async (_, path) => {
    const page = await rig.open(await rig.context(), path)
    expect(await started(page)).toBe('signed-out')
    expect(page.url()).toBe(rig.origin + path)
    expect(rig.tokenRequests('authorization_code')).toBe(0)
  })

  it('a callback that was not started here ends neither a pending login nor a session', async () => {
    const context = await rig.context()
    const page = await rig.open(context, '/indexed/home')
    const forged = `${rig.origin}/indexed/callback?state=redirect.${'A'.repeat(43)}`
    const own = await interrupted(page)
    expect(await goto(page, `${forged}&error=access_denied`)).toBe('flow_not_found')
    expect(await goto(page, `${forged}&code=theirs`)).toBe('flow_not_found')
    expect(await goto(page, own)).toBe('signed-in')
    expect(await goto(page, `${forged}&error=access_denied`)).toBe('signed-in')
    expect(await goto(page, `${forged}&code=theirs`)).toBe('signed-in')
    expect(await call(page)).toBe(200)
    expect(rig.tokenRequests('authorization_code')).toBe(1)
  })

  it('reloaded, gone back to, opened again and in another tab: one exchange, no error', async () => {
    const context = await rig.context()
    const page = await rig.open(context, '/indexed/home')
    const callback = await interrupted(page)
    expect(await goto(page, callback)).toBe('signed-in')
    await page.reload()
    expect(await started(page)).toBe('signed-in')
    await goto(page, `${rig.origin}/indexed/next`)
    await page.goBack()
    expect(await started(page)).toBe('signed-in')
    expect(page.url()).toBe(`${rig.origin}/indexed/home`)
    expect(await goto(page, callback)).toBe('signed-in')
    expect(page.url()).toBe(`${rig.origin}/indexed/callback`)
    const other = await context.newPage()
    expect(await goto(other, callback)).toBe('signed-in')
    expect(rig.tokenRequests('authorization_code')).toBe(1)
  })

  it('without a session a spent callback says what it is, and the next login succeeds', async () => {
    const page = await rig.open(await rig.context(), '/memory/home')
    const callback = await interrupted(page)
    expect(await goto(page, callback)).toBe('signed-in')
    expect(await goto(page, callback)).toBe('already_handled')
    await signIn(page, '/memory/home')
    expect(await call(page)).toBe(200)
  })

  it('an exchange whose response is lost is not repeated, and the next login leads to the return URL', async () => {
    const page = await rig.open(await rig.context(), '/memory/wanted')
    rig.service.dev.addFault({ match: { path: '/auth/v1/token' }, effect: 'drop-after-commit', times: 1 })
    await page.evaluate(() => window.app.auth.signIn())
    await page.waitForURL(`${rig.origin}/memory/callback`)
    expect(await started(page)).toBe('exchange_interrupted')
    expect(rig.tokenRequests('authorization_code')).toBe(1)
    await signIn(page)
    expect(page.url()).toBe(`${rig.origin}/memory/wanted`)
  })

  it.each([
    ['an error', (callback: string) => callback.replace(/code=[^&]*/, 'error=access_denied'), 'login_denied'],
    ['a refused code', (callback: string) => callback.replace(/code=[^&]*/, 'code=unknown'), 'grant_rejected'],
  ])(
    'a login that ends in %s leaves the stored session as it was, and is told all the same',
    async (_, spoil, code) => {
      const page = await rig.signedIn(await rig.context(), 'indexed')
      const callback = await interrupted(page)
      expect(await goto(page, spoil(callback))).toBe(code)
      expect(await statusOf(page)).toBe('signed-in')
      expect(await page.evaluate(() => window.app.codeOf(window.app.auth.ready()))).toBe(code)
      expect(await call(page)).toBe(200)
      await page.reload()
      expect(await started(page)).toBe('signed-in')
    },
  )

  describe('with a second instance of the app in the page', () => {
    const startTwice = (context: BrowserContext): Promise<unknown> =>
      context.addInitScript(() => {
        window.start = 'twice'
      })
    const twinStarted = async (page: Page): Promise<string> => {
      await untilTrue(page, () => window.app?.twinStarted)
      return page.evaluate(() => window.app.twinStarted)
    }

    it('its ready() waits for the login that the first one finishes, and shares it', async () => {
      const context = await rig.context()
      await startTwice(context)
      const { page, reached, answer } = await finishing(context, 'indexed')
      const call = await page.evaluateHandle(() => ({ made: window.app.twin?.fetch('/api/x') }))
      await reached
      await answer()
      expect(await twinStarted(page)).toBe('signed-in')
      expect(await started(page)).toBe('signed-in')
      expect(await call.evaluate(({ made }) => made?.then(({ status }) => status))).toBe(404)
      expect(page.url()).toBe(`${rig.origin}/indexed/home`)
      expect(rig.tokenRequests('authorization_code')).toBe(1)
    })
  })

  describe('a sign-out that comes before the login is finished', () => {
    const atCallback = async (context: BrowserContext, kind: 'indexed' | 'memory' | 'session') => {
      const { page, reached, answer } = await finishing(context, kind)
      await reached
      return { page, answer }
    }

    it.each(['indexed', 'memory'] as const)('ends the login without a session, over %s', async (kind) => {
      const { page, answer } = await atCallback(await rig.context(), kind)
      expect(await page.evaluate(() => window.app.codeOf(window.app.auth.signOut()))).toBe('resolved')
      expect(await started(page)).toBe('signed-out')
      await answer()
      expect(await call(page)).toBe('login_required')
      expect(await page.evaluate(() => window.app.told.map(({ status }) => status))).not.toContain('signed-in')
      expect(page.url()).toBe(`${rig.origin}/${kind}/callback`)
      await page.reload()
      expect(await started(page)).toBe('signed-out')
    })

    it.each(['indexed', 'session'] as const)('wins in another tab too, over %s', async (kind) => {
      const context = await rig.context()
      const other = await rig.open(context, `/${kind}/home`)
      const { page, answer } = await atCallback(context, kind)
      await other.evaluate(() => window.app.auth.signOut())
      expect(await started(page)).toBe('signed-out')
      await answer()
      expect(await call(page)).toBe('login_required')
    })

    it('lets the next signIn() start its own login at once', async () => {
      const { page } = await atCallback(await rig.context(), 'memory')
      const requested: string[] = []
      page.on('request', (request) => requested.push(`${request.method()} ${new URL(request.url()).pathname}`))
      await page.evaluate(async () => {
        await window.app.auth.signOut()
        window.app.started = ''
        await window.app.auth.signIn({ returnTo: '/memory/next' })
      })
      await page.waitForURL(`${rig.origin}/memory/next`)
      expect(await call(page)).toBe(200)
      expect(requested.filter((request) => request === 'POST /auth/v1/token')).toHaveLength(1)
    })

    it('keeps a later ready() from finishing the callback of a page that had not begun to', async () => {
      const context = await rig.context()
      const page = await rig.open(context, '/indexed/home')
      const callback = await interrupted(page)
      await page.addInitScript(() => {
        window.start = 'without ready()'
      })
      await page.goto(`${callback}&tab=2`)
      await untilTrue(page, () => Boolean(window.app))
      await page.evaluate(() => window.app.auth.session.signOut())
      expect(page.url()).toBe(`${rig.origin}/indexed/callback?tab=2`)
      expect(await page.evaluate(() => window.app.codeOf(window.app.auth.ready()))).toBe('resolved')
      expect(await statusOf(page)).toBe('signed-out')
      expect(rig.tokenRequests('authorization_code')).toBe(0)
    })
  })

  it("a developer's page without onEvent reads once on the console what no call throws", async () => {
    const context = await rig.context()
    await context.addInitScript(() => {
      IDBFactory.prototype.open = () => {
        throw new DOMException('blocked', 'SecurityError')
      }
      const fetch = async (): Promise<never> => {
        throw new TypeError('Failed to fetch')
      }
      window.adjust = (options) => ({ ...options, fetch, onEvent: undefined })
    })
    const page = await context.newPage()
    const printed: string[] = []
    page.on('console', (message) => printed.push(message.text()))
    expect(await goto(page, `${rig.origin}/indexed/home`)).toBe('signed-out')
    await page.evaluate(async () => {
      for (const path of ['a', 'b']) await window.app.codeOf(window.app.auth.fetch(`https://other.example/${path}`))
    })
    expect(printed).toEqual([
      expect.stringContaining('the storage cannot be used (read_failed)'),
      'agent-auth: https://other.example gets no token, because it is not baseUrl.',
      expect.stringContaining(`allow ${rig.origin} and authorization by CORS`),
    ])
  })

  it('a redirect in a frame, where the service shows no form, is refused', async () => {
    const portal = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html>'))
    onTestFinished(() => void portal.close())
    const port = await listen(portal, 'localhost')
    const page = await (await rig.context()).newPage()
    await page.goto(`http://localhost:${port}`)
    await page.evaluate(
      (src) => Object.assign(document.body.appendChild(document.createElement('iframe')), { src }),
      `${rig.origin}/memory/home`,
    )
    const frame = page.frames()[1] as Frame
    expect(await started(frame)).toBe('signed-out')
    expect(await frame.evaluate(() => window.app.codeOf(window.app.auth.signIn()))).toBe('config_invalid')
  })

  it('a page with images named after members of the document goes on', async () => {
    rig.app.rendered = '<img name="prerendering"><img name="hidden"><img name="hasFocus">'
    const context = await rig.context()
    context.setDefaultTimeout(30_000)
    const page = await rig.signedIn(context, 'indexed')
    expect(await call(page)).toBe(200)
    await page.evaluate(async () => {
      await new Promise((resolve) => {
        indexedDB.deleteDatabase('agent-auth').onsuccess = resolve
      })
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
    })
    await untilStatus(page, 'signed-out')
  })

  it('a sign-out at the service ends its own sign-in: the next login asks for the password', async () => {
    const page = await rig.open(await rig.context(), '/indexed/home')
    rig.service.dev.autoApprove(undefined)
    await page.evaluate(() => window.app.auth.signIn())
    await fillForms(page, rig.service, 'approve')
    await page.waitForURL(`${rig.origin}/**`)
    expect(await started(page)).toBe('signed-in')
    await page.evaluate(() => window.app.auth.signOut({ atService: true, returnTo: '/indexed/bye' }))
    await page.waitForURL(`${rig.origin}/indexed/bye`)
    expect(await started(page)).toBe('signed-out')
    await page.evaluate(() => window.app.auth.signIn())
    await page.waitForSelector('[name=password]')
  })

  it('a prerendered page finishes no login and starts none until it is shown', async () => {
    const context = await rig.context()
    const page = await rig.open(context, '/memory/home')
    const callback = await interrupted(page)
    await context.addInitScript(() => {
      let prerendering = true
      Object.defineProperty(document, 'prerendering', { get: () => prerendering })
      addEventListener('shown', () => {
        prerendering = false
        document.dispatchEvent(new Event('prerenderingchange'))
      })
    })
    const show = (): Promise<boolean> => page.evaluate(() => dispatchEvent(new Event('shown')))
    const waits = (work: Promise<string>): Promise<string> =>
      Promise.race([work, page.waitForTimeout(200).then(() => 'waits')])
    await page.goto(callback)
    expect(await waits(started(page))).toBe('waits')
    expect(rig.tokenRequests('authorization_code')).toBe(0)
    await show()
    expect(await started(page)).toBe('signed-in')
    await page.goto(`${rig.origin}/memory/next`)
    expect(await waits(page.evaluate(() => window.app.codeOf(window.app.auth.signIn())))).toBe('waits')
    const returned = page.waitForURL(`${rig.origin}/memory/callback?**`)
    await show()
    await returned
  })

  it('a call whose signal fires meanwhile ends at once, with the signal’s own reason', async () => {
    const { page, answer } = await finishing(await rig.context(), 'memory')
    const reason = await page.evaluate(() =>
      window.app.codeOf(window.app.auth.fetch('/api/x', { signal: AbortSignal.abort(new Error('enough')) })),
    )
    expect([reason, await statusOf(page)]).toEqual(['Error', 'loading'])
    await answer()
    await untilStatus(page, 'signed-in')
  })

  it('a guard that signs in while the callback is being finished starts no second login', async () => {
    const { page, answer } = await finishing(await rig.context(), 'memory')
    const login = await page.evaluateHandle(() => ({ begun: window.app.codeOf(window.app.auth.signIn()) }))
    await answer()
    const code = await login.evaluate(({ begun }) => begun)
    expect({ code, status: await statusOf(page) }).toEqual({ code: 'resolved', status: 'signed-in' })
    expect(page.url()).toBe(`${rig.origin}/memory/home`)
  })
})
