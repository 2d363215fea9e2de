import { attempt, checkMethods, recordMethods } from '../../internal/values.ts'
import type { BrowserStorage } from '../options.ts'
import { claimTab } from '../tabs/duplicated-tab.ts'
import { webLock } from './web-lock.ts'

/**
 * Keeps records in localStorage or sessionStorage, which every script of the page can read (XSS). Pass a function if reading
 * the property may throw or if there is no window: `webStorage(() => sessionStorage)`. Use localStorage for one tab at a time:
 * tabs see each other's writes late, even behind a lock, and a lost write loses the session. For several tabs use
 * `indexedDbStorage`. Throws `config_invalid`.
 */
export function webStorage(area: Storage | (() => Storage)): BrowserStorage {
  if (typeof area !== 'function' && area !== undefined) checkMethods('area', area, recordMethods)
  const open = typeof area === 'function' ? area : () => area
  const isOwn = attempt(() => open() === sessionStorage)
  let isClaimed = !isOwn
  return {
    reach: isOwn ? 'tab' : 'browser',
    getItem(key) {
      if (isClaimed) return open().getItem(key)
      return claimTab(open()).then(() => {
        isClaimed = true
        return open().getItem(key)
      })
    },
    setItem: (key, value) => open().setItem(key, value),
    removeItem: (key) => open().removeItem(key),
    ...(!isOwn && webLock()),
  }
}
