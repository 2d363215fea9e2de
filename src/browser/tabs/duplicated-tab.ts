import { succeeds } from '../../internal/timeouts.ts'
import { attempt } from '../../internal/values.ts'

const tabKey = 'agent-auth:tab'
/** How long a page may take to release its tab to a reload. Less than the first read may take, so that it still follows. */
const releaseMs = 3_000

/** Where a page keeps its one claim, because several sessions and frames of a tab ask for it. */
const claimKey: unique symbol = Symbol.for('agent-auth.tab') as never

type Page = typeof globalThis & Window & { [claimKey]?: Promise<void> }

/**
 * Makes this tab the only one that uses the records in its sessionStorage. A duplicated tab, or a window that this page
 * opened, starts with a copy of them. Two tabs with one refresh token end the session for both, so the duplicate removes its
 * copy. Does nothing if the browser has no Web Locks, nor in a frame of another site's page.
 */
export async function claimTab(area: Storage): Promise<void> {
  // Frames share their storage with the page around them, so the claim belongs to that page. It cannot be read if it is of another origin.
  const page = attempt(() => globalThis.top?.location.href && (globalThis.top as Page)) || undefined
  if (!page?.navigator.locks) return
  page[claimKey] ??= claimOrRemove(area, page)
  await page[claimKey]
}

async function claimOrRemove(area: Storage, page: Page): Promise<void> {
  let name = area.getItem(tabKey)
  if (!name || !(await claim(name, page))) {
    if (name) for (const key of Object.keys(area)) if (key.startsWith('agent-auth:http')) area.removeItem(key)
    name = crypto.randomUUID()
    area.setItem(tabKey, name)
    await claim(name, page)
  }
  const own = name
  page.addEventListener('pageshow', ({ persisted }) => void (persisted && claim(own, page)))
}

/** Locks the tab's name until its page is hidden. Waits for the page before a reload. Resolves with whether that was possible. */
function claim(name: string, page: Page): Promise<boolean> {
  const signal = AbortSignal.timeout(releaseMs)
  const locked = new Promise<void>((resolve, reject) => {
    const hold = (): Promise<void> => {
      resolve()
      return new Promise((release) => page.addEventListener('pagehide', () => release(), { once: true }))
    }
    page.navigator.locks.request(`${tabKey}:${name}`, { signal }, hold).catch(reject)
  })
  return succeeds(locked)
}
