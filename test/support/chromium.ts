import type { Browser } from 'playwright-core'
import { findOnPath } from './on-path.ts'

export const chromiumNames: readonly string[] = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
]

/** The browser talks to the pages under test and to nobody else. */
const quiet = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Without a screen, the process that draws does little more than start.
  '--in-process-gpu',
]

/** The first Chromium on PATH, or undefined when there is none. */
export function findChromium(): string | undefined {
  return findOnPath(chromiumNames)
}

/** Debian's build of the same Chromium without windows, menus and extensions: it takes a third of the time. */
export const headlessShellName = 'chromium-headless-shell'

export function findHeadlessShell(): string | undefined {
  return findOnPath([headlessShellName])
}

export interface LaunchOptions {
  /** `whole` for what a browser decides outside its pages, and for pictures; by default the quickest that is there. */
  readonly build?: 'quickest' | 'whole'
  /** What Playwright turns off that a test wants to be as in the browsers people use. */
  readonly ignoreDefaultArgs?: string[]
}

/** Called with each browser that starts, before it opens a page. */
export const launchListeners: Set<(browser: Browser) => void> = new Set()

let shared: Promise<Browser> | undefined

/** The Chromium of this worker, for all files that want no other options. It ends with the worker. Close what you open in it. */
export async function sharedChromium(): Promise<Browser> {
  const running = await shared?.catch(() => undefined)
  if (running?.isConnected()) return running
  shared = launchChromium()
  return shared
}

/** A real, headless Chromium of your own. Open a context per test, and close the browser at the end of the file. */
export async function launchChromium({
  build = 'quickest',
  ignoreDefaultArgs = [],
}: LaunchOptions = {}): Promise<Browser> {
  const executablePath = (build === 'quickest' ? findHeadlessShell() : undefined) ?? findChromium()
  if (executablePath === undefined) {
    throw new Error('there is no Chromium on PATH: npm test installs it as root on Debian and Ubuntu')
  }
  const { chromium } = await import('playwright-core')
  // Chromium's sandbox does not start for root, as in most containers.
  const chromiumSandbox = process.getuid?.() !== 0
  const args = ['--headless=new', ...quiet]
  const browser = await chromium.launch({ executablePath, chromiumSandbox, args, ignoreDefaultArgs })
  for (const listener of launchListeners) listener(browser)
  return browser
}
