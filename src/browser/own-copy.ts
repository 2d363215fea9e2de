import { succeeds } from '../deadline.ts'

const tabKey = 'agent-auth:tab'
/** How long the page that was here before a reload may take to let go. */
const handOverMs = 1_000

/** One claim for each sessionStorage, that is for each page, however many sessions look at it. */
const claims = new WeakMap<Storage, Promise<void>>()

/**
 * Makes sure that this tab is the only one with what is in its sessionStorage. A duplicated tab, or a window this page
 * opened, starts with a copy of it, and two holders of one refresh token end the session for both: so the copy is dropped.
 * Does nothing where the browser has no Web Locks, nor in a frame.
 */
export function dropCopies(area: Storage): Promise<void> {
  const claimed = claims.get(area) ?? claimOrDrop(area)
  claims.set(area, claimed)
  return claimed
}

async function claimOrDrop(area: Storage): Promise<void> {
  const known = area.getItem(tabKey)
  // Frames share their storage with others of their origin in this tab; what is there is no copy.
  if (!globalThis.navigator?.locks || window.parent !== window || (known && (await claim(known)))) return
  const records = Object.keys(area).filter((key) => key.startsWith('agent-auth:http'))
  if (known) for (const key of records) area.removeItem(key)
  const name = crypto.randomUUID()
  area.setItem(tabKey, name)
  await claim(name)
}

/** Holds the tab's name as long as its page is shown; resolves with whether it could be had. */
function claim(name: string): Promise<boolean> {
  const signal = AbortSignal.timeout(handOverMs)
  const held = new Promise<void>((resolve, reject) => {
    const hold = (): Promise<void> => {
      resolve()
      return new Promise((release) => addEventListener('pagehide', () => release(), { once: true }))
    }
    navigator.locks.request(`${tabKey}:${name}`, { signal }, hold).catch(reject)
  })
  const again = ({ persisted }: PageTransitionEvent): void => void (persisted && claim(name))
  addEventListener('pagehide', () => addEventListener('pageshow', again, { once: true }), { once: true })
  return succeeds(held)
}
