import type { TokenStorage } from '../../storage/token-storage.ts'

/** A storage that says whether the tabs of this origin share its records (`browser`, the default) or each has its own. */
export interface BrowserStorage extends TokenStorage {
  /** Which pages share the records: all tabs of the origin, or one tab. Default `browser`. */
  readonly reach?: 'browser' | 'tab'
}
