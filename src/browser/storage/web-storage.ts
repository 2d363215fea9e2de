import { checkArgument, storageKind } from '../../config/options.ts'
import { dropCopies } from '../tabs/duplicated-tab.ts'
import type { BrowserStorage } from './browser-storage.ts'
import { webLock } from './web-lock.ts'

/**
 * Keeps records in localStorage or sessionStorage, which every script of the page can read. Give a function where reading
 * the property may throw or there is no window: `webStorage(() => sessionStorage)`. localStorage is for one tab at a time:
 * tabs see each other's writes late, even behind a lock, and a lost write loses the session; use `indexedDbStorage` there.
 */
export function webStorage(area: Storage | (() => Storage)): BrowserStorage {
  if (typeof area !== 'function' && area !== undefined) checkArgument('area', area, storageKind)
  const at = (): Storage => (typeof area === 'function' ? area() : area)
  const isOwn = isSessionStorage(at)
  let isChecked = !isOwn
  return {
    reach: isOwn ? 'tab' : 'browser',
    getItem(key) {
      if (isChecked) return at().getItem(key)
      return dropCopies(at()).then(() => {
        isChecked = true
        return at().getItem(key)
      })
    },
    setItem: (key, value) => at().setItem(key, value),
    removeItem: (key) => at().removeItem(key),
    ...(!isOwn && webLock()),
  }
}

function isSessionStorage(at: () => Storage): boolean {
  try {
    return at() === sessionStorage
  } catch {
    return false
  }
}
