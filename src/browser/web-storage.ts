import type { BrowserStorage } from './browser-storage.ts'
import { webLock } from './web-lock.ts'

type Area = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

/**
 * Keeps records in localStorage or sessionStorage, which every script of the page can read. Give a function where reading
 * the property may throw or there is no window: `webStorage(() => sessionStorage)`. localStorage is for one tab at a time:
 * tabs see each other's writes late, even behind a lock, and a lost write loses the session; use `indexedDbStorage` there.
 */
export function webStorage(area: Area | (() => Area)): BrowserStorage {
  const at = (): Area => (typeof area === 'function' ? area() : area)
  const reach = isSessionStorage(at) ? 'tab' : 'browser'
  return {
    reach,
    getItem: (key) => at().getItem(key),
    setItem: (key, value) => at().setItem(key, value),
    removeItem: (key) => at().removeItem(key),
    ...(reach === 'browser' && webLock()),
  }
}

function isSessionStorage(at: () => Area): boolean {
  try {
    return at() === sessionStorage
  } catch {
    return false
  }
}
