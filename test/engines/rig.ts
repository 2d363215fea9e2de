import { type RequestEntry, type Service, startService } from 'agent-service'
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject } from 'vitest'
import { type AppServer, serveApp } from '../browser/app-server.ts'
import { type Kind, kinds } from '../browser/kinds.ts'
import type {} from '../browser/page-app.ts'
import type { Engine, Profile, Tab } from './engine.ts'
import { type EngineName, engines } from './engines.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    engine: EngineName
  }
}

export interface EngineRig {
  readonly app: AppServer
  readonly service: Service
  /** The fresh profile of this test. */
  readonly profile: Profile
  /** A tab with the app, whose `ready()` has settled. */
  open(path: string): Promise<Tab>
  /** The same, signed in. */
  signedIn(kind: Kind): Promise<Tab>
  /** The requests that the service has answered in this test. */
  requests(match: Partial<RequestEntry>): RequestEntry[]
}

/** The engine of this run, one app and one service for the file; a profile for each test. */
export function engineRig(): EngineRig {
  const rig = {} as { -readonly [K in keyof EngineRig]: EngineRig[K] }
  let engine: Engine
  let before = 0
  beforeAll(async () => {
    rig.app = await serveApp(() => rig.service)
    const redirectUris = kinds.map((kind) => `${rig.app.origin}/${kind}/callback`)
    rig.service = await startService({ dev: 'on', redirectUris })
    engine = await engines[inject('engine')].launch()
    process.stdout.write(`${engine.name}\n`)
  })
  beforeEach(async ({ onTestFinished }) => {
    Object.assign(rig.app, { scripts: {}, before: () => {} })
    rig.app.asked.length = 0
    rig.service.dev.clearFaults()
    rig.service.dev.autoApprove('ada@demo.example')
    before = rig.service.dev.journal().length
    rig.profile = await engine.newProfile()
    onTestFinished(() => rig.profile.close())
  })
  afterEach(async () => {
    const problems = (await Promise.all((await rig.profile.tabs()).map(problemsOf))).flat()
    expect(problems).toEqual([])
  })
  afterAll(async () => {
    await engine?.close()
    await rig.service?.close()
    rig.app?.close()
  })
  rig.open = async (path) => {
    const tab = await rig.profile.newTab()
    await goto(tab, rig.app.origin + path)
    return tab
  }
  rig.signedIn = async (kind) => {
    const tab = await rig.open(`/${kind}/home`)
    await signIn(tab)
    return tab
  }
  rig.requests = (match) =>
    rig.service.dev
      .journal()
      .slice(before)
      .filter((entry) => entry.kind === 'request')
      .filter((entry) => Object.entries(match).every(([name, value]) => entry[name as keyof RequestEntry] === value))
  return rig
}

/** What no page of the app may have come to: a violation of its policy, a code or state left in the address. */
async function problemsOf(tab: Tab): Promise<string[]> {
  const { violations, address } = await tab.evaluate(() => ({
    violations: window.violations,
    address: location.search,
  }))
  // On other pages there is no such list.
  if (violations === undefined) return []
  // WebKit asks for an icon that no page names, and reports that the policy forbids it.
  const forbidden = violations.filter((violation) => !violation.endsWith('/favicon.ico'))
  return /[?&]state=/.test(address) ? [...forbidden, `state in ${address}`] : forbidden
}

const deadlineMs = 30_000

/** Resolves with what the function in the page gives once that is truthy, over navigations too. */
export async function waitFor<A extends unknown[], R>(
  tab: Tab,
  look: (...args: A) => R | Promise<R>,
  ...args: A
): Promise<R> {
  const endMs = performance.now() + deadlineMs
  let problem: unknown
  while (performance.now() < endMs) {
    try {
      const found = await tab.evaluate(look, ...args)
      if (found) return found
    } catch (error) {
      // The page is being left.
      problem = error
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`it never came to ${look}`, { cause: problem })
}

/** The tab or window that has come to this origin. */
export async function tabAt(profile: Profile, origin: string): Promise<Tab> {
  const endMs = performance.now() + deadlineMs
  while (performance.now() < endMs) {
    for (const tab of await profile.tabs()) {
      const address = await addressOf(tab).catch(() => '')
      if (address.startsWith(origin)) return tab
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`no tab came to ${origin}`)
}

/** Resolves with what `ready()` of the page's start gave. */
export const started = (tab: Tab): Promise<string> => waitFor(tab, () => window.app?.started)

export async function goto(tab: Tab, url: string): Promise<string> {
  await tab.goto(url)
  return started(tab)
}

export async function reload(tab: Tab): Promise<string> {
  await tab.reload()
  return started(tab)
}

/** Signs in by redirect, the service approving by itself, and waits until the app has started again. */
export async function signIn(tab: Tab): Promise<void> {
  await leave(tab)
  await waitFor(tab, () => window.app?.started === 'signed-in')
}

/** Starts a login by redirect, and waits for nothing. */
export async function leave(tab: Tab): Promise<void> {
  const left = tab.evaluate(() => {
    window.app.started = ''
    void window.app.auth.signIn()
  })
  // The page can be gone before it answers.
  await left.catch(() => {})
}

/** Signs Ada in on the service's pages, and agrees. */
export async function fillForms(tab: Tab, { people }: Service): Promise<void> {
  const ada = people.find(({ email }) => email.startsWith('ada@'))
  await waitFor(tab, () => document.querySelector('[name=email]') !== null)
  await tab.fill('[name=email]', ada?.email ?? '')
  await tab.fill('[name=password]', ada?.password ?? '')
  await tab.click('form button[type=submit]')
  // It cannot be clicked at once.
  await waitFor(tab, () => {
    const button = document.querySelector('[value=approve]')
    return button && getComputedStyle(button).pointerEvents !== 'none'
  })
  await tab.click('[value=approve]')
}

export const call = (tab: Tab): Promise<number | string> => tab.evaluate(() => window.app.call())

export const statusOf = (tab: Tab): Promise<string> => tab.evaluate(() => window.app.auth.session.state.status)

export const addressOf = (tab: Tab): Promise<string> => tab.evaluate(() => location.href)
