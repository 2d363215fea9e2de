import { attempt } from '../../internal/attempt.ts'
import { succeeds } from '../../internal/timeouts.ts'

const tabKey = 'agent-auth:tab'
/** How long the page that was here before a reload may take to let go. */
const handOverMs = 1_000

/** Where a page keeps its one claim, however many sessions and frames of its tab ask for it. */
const claimKey: unique symbol = Symbol.for('agent-auth.tab') as never

type Page = typeof globalThis & Window & { [claimKey]?: Promise<void> }

/**
 * Makes sure that this tab is the only one with what is in its sessionStorage. A duplicated tab, or a window this page
 * opened, starts with a copy of it, and two holders of one refresh token end the session for both: so the copy is dropped.
 * Does nothing where the browser has no Web Locks, nor in a frame of another site's page.
 */
export async function dropCopies(area: Storage): Promise<void> {
  // Frames share their storage with the page around them, so the claim is that page's, whichever of them comes first.
  const page = outermost(globalThis as Page)
  if (!page?.navigator?.locks) return
  page[claimKey] ??= claimOrDrop(area, page)
  await page[claimKey]
}

/** The page at the top of this tab, or undefined if it is not of this origin. */
function outermost(frame: Page): Page | undefined {
  if (frame.parent === frame) return frame
  const parent = frame.parent as Page
  // The address of another site's page cannot be read.
  return attempt(() => parent.location.href) === undefined ? undefined : outermost(parent)
}

async function claimOrDrop(area: Storage, page: Page): Promise<void> {
  const known = area.getItem(tabKey)
  if (known && (await claim(known, page))) return
  const records = Object.keys(area).filter((key) => key.startsWith('agent-auth:http'))
  if (known) for (const key of records) area.removeItem(key)
  const name = crypto.randomUUID()
  area.setItem(tabKey, name)
  await claim(name, page)
}

/** Holds the tab's name as long as its page is shown; resolves with whether it could be had. */
function claim(name: string, page: Page): Promise<boolean> {
  const signal = AbortSignal.timeout(handOverMs)
  const held = new Promise<void>((resolve, reject) => {
    const hold = (): Promise<void> => {
      resolve()
      return new Promise((release) => page.addEventListener('pagehide', () => release(), { once: true }))
    }
    page.navigator.locks.request(`${tabKey}:${name}`, { signal }, hold).catch(reject)
  })
  const again = ({ persisted }: PageTransitionEvent): void => void (persisted && claim(name, page))
  page.addEventListener('pagehide', () => page.addEventListener('pageshow', again, { once: true }), { once: true })
  return succeeds(held)
}
