import { succeeds } from '../../internal/timeouts.ts'
import { attempt } from '../../internal/values.ts'

/** How long a page may take to release its tab to a reload, in milliseconds. Less than the first read may take, so that it still follows. */
const tabReleaseMs = 3_000

const tabKey = 'agent-auth:tab'

/** Where a page keeps its one claim, because several sessions and frames of a tab ask for it. */
const claimKey: unique symbol = Symbol.for('agent-auth.tab') as never

type Page = typeof globalThis & Window & { [claimKey]?: Promise<void> }

/**
 * Makes this tab the only one that uses the records in its sessionStorage. A duplicated tab, or a window that this page
 * opened, starts with a copy of them. Two tabs with one refresh token end the session for both, so the duplicate removes its
 * copy. Does nothing if the browser has no Web Locks, nor in a frame of another site's page.
 */
export async function claimTab(area: Storage): Promise<void> {
  // Frames share their storage with the page around them, so the claim belongs to that page.
  const page = outermost(globalThis as Page)
  if (!page?.navigator?.locks) return
  page[claimKey] ??= claimOrRemove(area, page)
  await page[claimKey]
}

/** Returns the page at the top of this tab, or undefined if it is of another origin. */
function outermost(frame: Page): Page | undefined {
  if (frame.parent === frame) return frame
  const parent = frame.parent as Page
  // The address of another origin's page cannot be read.
  return attempt(() => parent.location.href) === undefined ? undefined : outermost(parent)
}

async function claimOrRemove(area: Storage, page: Page): Promise<void> {
  const known = area.getItem(tabKey)
  if (known) {
    if (await claim(known, page)) return
    for (const key of Object.keys(area)) if (key.startsWith('agent-auth:http')) area.removeItem(key)
  }
  const name = crypto.randomUUID()
  area.setItem(tabKey, name)
  await claim(name, page)
}

/**
 * Locks the tab's name as long as its page is shown. Waits for the page before a reload (`tabReleaseMs`, 3 s). Resolves with
 * whether that was possible.
 */
function claim(name: string, page: Page): Promise<boolean> {
  const signal = AbortSignal.timeout(tabReleaseMs)
  const locked = new Promise<void>((resolve, reject) => {
    const hold = (): Promise<void> => {
      resolve()
      return new Promise((release) => page.addEventListener('pagehide', () => release(), { once: true }))
    }
    page.navigator.locks.request(`${tabKey}:${name}`, { signal }, hold).catch(reject)
  })
  const claimAgain = ({ persisted }: PageTransitionEvent): void => void (persisted && claim(name, page))
  page.addEventListener('pagehide', () => page.addEventListener('pageshow', claimAgain, { once: true }), { once: true })
  return succeeds(locked)
}
