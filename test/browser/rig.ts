import { type Service, type ServiceOptions, startService } from 'agent-service'
import type { Browser, BrowserContext, Frame, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { sharedChromium } from '../support/chromium.ts'
import { type AppServer, serveApp } from './app-server.ts'
import { type Kind, kinds } from './kinds.ts'
import type {} from './page-app.ts'
import { type Watch, watchContext } from './watch.ts'

export interface BrowserRig {
  readonly origin: string
  readonly service: Service
  readonly browser: Browser
  /** A fresh profile, watched for leaks and violations of the policy. */
  context(): Promise<BrowserContext>
  /** A page of the app that has started: its `ready()` has settled. */
  open(context: BrowserContext, path: string): Promise<Page>
  /** The same, signed in. */
  signedIn(context: BrowserContext, kind: Kind): Promise<Page>
  /** How many token requests of this kind the service has seen in this test. */
  tokenRequests(grant: 'authorization_code' | 'refresh_token'): number
  /** What the app's pages are served with, to the end of the test. */
  readonly app: AppServer
}

/** One app and one service for the file, and the worker's browser or one of its own; what a test opens is checked and closed after it. */
export function browserRig(options: ServiceOptions = {}, launch?: () => Promise<Browser>): BrowserRig {
  const rig = {} as { -readonly [K in keyof BrowserRig]: BrowserRig[K] }
  const watches: Watch[] = []
  let counted = 0
  beforeAll(async () => {
    rig.app = await serveApp(() => rig.service)
    rig.origin = rig.app.origin
    const redirectUris = [...kinds.map((kind) => `/${kind}`), ''].map((folder) => `${rig.origin}${folder}/callback`)
    rig.service = await startService({ dev: 'on', redirectUris, ...options })
    rig.browser = await (launch ?? sharedChromium)()
  })
  beforeEach(async () => {
    Object.assign(rig.app, { scripts: {}, rendered: '', before: () => {} })
    rig.service.dev.clearFaults()
    rig.service.dev.autoApprove('ada@demo.example')
    counted = rig.service.dev.journal().length
  })
  afterEach(async () => {
    for (const watch of watches.splice(0)) await watch.end()
  })
  afterAll(async () => {
    if (launch) await rig.browser?.close()
    await rig.service?.close()
    rig.app?.close()
  })
  rig.context = async () => {
    const context = await rig.browser.newContext()
    watches.push(
      await watchContext(context, { app: rig.origin, tokenEndpoint: `${rig.service.authUrl}/auth/v1/token` }),
    )
    return context
  }
  rig.open = async (context, path) => {
    const page = await context.newPage()
    await page.goto(rig.origin + path)
    await started(page)
    return page
  }
  rig.signedIn = async (context, kind) => {
    const page = await rig.open(context, `/${kind}/home`)
    await signIn(page)
    return page
  }
  rig.tokenRequests = (grant) =>
    rig.service.dev
      .journal()
      .slice(counted)
      .filter((entry) => entry.kind === 'request' && entry.method === 'POST' && entry.grantType === grant).length
  return rig
}

/** Resolves with what `ready()` of the page's start gave. */
export async function started(page: Page | Frame): Promise<string> {
  await page.waitForFunction(() => window.app?.started)
  return page.evaluate(() => window.app.started)
}

/**
 * Resolves when the condition holds in the page. Its type admits no promise, because `waitForFunction` of Playwright takes one for
 * true: those conditions go to `untilResolvesTrue`.
 */
export async function untilTrue<Arg extends string | number | undefined>(
  page: Page | Frame,
  condition: (arg: Arg) => boolean | string | null | undefined,
  arg?: Arg,
): Promise<void> {
  await page.waitForFunction(condition as (arg: unknown) => unknown, arg)
}

/** Resolves when the promise that the condition gives in the page resolves with true. */
export async function untilResolvesTrue(page: Page, condition: () => Promise<boolean>): Promise<void> {
  await expect.poll(() => page.evaluate(condition)).toBe(true)
}

/** Resolves when one tab waits for a lock. */
export const untilLockWanted = (page: Page): Promise<void> =>
  untilResolvesTrue(page, () => navigator.locks.query().then(({ pending }) => pending?.length === 1))

/** Signs in by redirect, the service approving by itself, and waits until the app has started again. */
export async function signIn(page: Page, returnTo?: string): Promise<void> {
  await page.evaluate((to) => {
    window.app.started = ''
    return window.app.auth.signIn(to === undefined ? {} : { returnTo: to })
  }, returnTo)
  await untilTrue(page, () => window.app?.started === 'signed-in')
}

/** Signs in as a user does on the pages of the service, and approves or denies. */
export async function fillForms(page: Page, service: Service, decision: 'approve' | 'deny'): Promise<void> {
  const ada = service.people.find(({ email }) => email.startsWith('ada@'))
  await page.fill('[name=email]', ada?.email ?? '')
  await page.fill('[name=password]', ada?.password ?? '')
  await page.keyboard.press('Enter')
  await page.click(`[name=decision][value=${decision}]`)
}

export const call = (page: Page): Promise<number | string> => page.evaluate(() => window.app.call())

export const statusOf = (page: Page): Promise<string> => page.evaluate(() => window.app.auth.session.state.status)

/** Resolves when the page's session has this status. */
export async function untilStatus(page: Page, status: string): Promise<void> {
  await untilTrue(page, (wanted) => window.app?.auth.session.state.status === wanted, status)
}
