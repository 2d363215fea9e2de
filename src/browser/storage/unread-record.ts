import type { Clock } from '../../internal/clock.ts'
import { isRecord } from '../../session/record.ts'
import { sessionStore } from '../../session/store.ts'
import type { TokenStorage } from '../../storage/token-storage.ts'

const retryMs = 5_000

/** The record of an earlier sign-in that this page could not read. It must not come back after a sign-in or sign-out here. */
export interface UnreadRecord {
  /** Removes the record that stands there now. If that fails, `retry` does it later. */
  remove(): void
  /** Repeats a removal that failed: by default at most every five seconds, `now` in any case. */
  retry(when?: 'now'): void
}

export interface UnreadRecordOptions {
  readonly clock: Clock
  readonly removed: () => void
}

export function unreadRecord(
  storage: TokenStorage,
  name: string,
  { clock, removed }: UnreadRecordOptions,
): UnreadRecord {
  const store = sessionStore(storage, name)
  /** The wall time of the removal that is pending. */
  let sinceMs: number | undefined
  let nextMs = 0

  async function removeEarlier(): Promise<void> {
    const askedAtMs = sinceMs
    if (askedAtMs === undefined) return
    const stored = await store.read()
    // The first revision is a sign-in. A later one is more likely a refresh of the earlier sign-in, in another tab.
    const isLater = isRecord(stored) && stored.rev === 1 && stored.tokens.obtainedAtMs > askedAtMs
    const isEarlier = (isRecord(stored) || stored === 'unreadable') && !isLater
    if (isEarlier) await store.remove()
    if (sinceMs === askedAtMs) sinceMs = undefined
    if (isEarlier) removed()
  }

  function retry(when?: 'now'): void {
    const nowMs = clock.monotonicMs()
    if (sinceMs === undefined || (!when && nowMs < nextMs)) return
    nextMs = nowMs + retryMs
    // The lock keeps another tab from signing in between the reading and the removal.
    store.locked(removeEarlier).catch(() => {})
  }

  return {
    remove() {
      sinceMs = clock.wallMs()
      retry('now')
    },
    retry,
  }
}
