import type { AuthEvent, StorageProblem } from '../events.ts'
import type { SessionStore } from './store.ts'

/** The storage problems of one session, each reported once until it is cleared. */
export interface StorageProblems {
  /** Emits `storage_degraded`, unless this problem was reported before and not cleared since. */
  report(problem: StorageProblem): void
  /** Notes that these problems no longer exist, so that they are reported if they return. */
  clear(...problems: StorageProblem[]): void
}

export function storageProblems(emit: (event: AuthEvent) => void, store: SessionStore): StorageProblems {
  let reported: readonly StorageProblem[] = []
  return {
    report(problem) {
      if (reported.includes(problem)) return
      reported = [...reported, problem]
      const { code, message } = store.failure ?? {}
      // The other problems come from a read that succeeded, so no operation has an error.
      const cause = code && message && problem.endsWith('_failed') ? { cause: { code, message } } : {}
      emit({ type: 'storage_degraded', reason: problem, ...cause })
    },
    clear(...problems) {
      reported = reported.filter((problem) => !problems.includes(problem))
    },
  }
}
