import type { Clock } from '../../internal/clock.ts'
import type { TokenStorage } from '../../storage/token-storage.ts'

const againMs = 5_000

/** A record that this page could not read. It must not come back after a sign-in or a sign-out here. */
export interface UnreadRecord {
  /** Removes it, at once or with a later `retry`. */
  remove(): void
  /** Repeats a removal that failed, at most every five seconds. */
  retry(): void
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
  let hasFailed = false
  let nextMs = 0
  const remove = async (): Promise<void> => {
    hasFailed = false
    nextMs = clock.monotonicMs() + againMs
    try {
      await storage.removeItem(name)
    } catch {
      hasFailed = true
      return
    }
    removed()
  }
  return {
    remove: () => void remove(),
    retry() {
      if (hasFailed && clock.monotonicMs() >= nextMs) void remove()
    },
  }
}
