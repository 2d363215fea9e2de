import type { TokenStorage } from '../../storage/token-storage.ts'

/** A storage that says whether the tabs of this origin share its records. */
export interface BrowserStorage extends TokenStorage {
  /** Which pages share the records: all tabs of the origin (`browser`, the default) or one tab (`tab`). */
  readonly reach?: 'browser' | 'tab'
}
