import { succeeds, withTimeout } from '../internal/timeouts.ts'
import type { MaybePromise, TokenStorage } from '../storage/token-storage.ts'

/** One empty set of records, and the clients of it. */
export interface StorageUnderTest {
  /** Returns a client of the same records, as another tab, process or machine has one. If there is only one, returns that. */
  handle(): MaybePromise<TokenStorage>
  /** Closes the clients that `handle` opened. Called after each case. */
  close?(): MaybePromise<void>
}

/** Creates an empty storage for one case. */
export type StorageFactory = () => MaybePromise<StorageUnderTest | TokenStorage>

/** One case of the contract of a storage, for any test runner. */
export interface StorageCase {
  /** The rule that the storage must keep. */
  readonly name: string
  /** Resolves if the storage keeps the rule. Rejects with an error that says what was seen instead. */
  run(): Promise<void>
}

/** Checks one rule on clients of one storage. */
export type Check = (handle: () => Promise<TokenStorage>) => Promise<void>

/** The checks by name, in order. */
export type Checks = Readonly<Record<string, Check>>

/** A key as the library creates them. */
export const recordKey = 'agent-auth:https%3A%2F%2Fauth.example.com:app:default'

/** Creates a case of a check: it opens a storage, runs the check, closes the storage, and rejects after `limitMs`. */
export function caseOf(name: string, check: Check, open: StorageFactory, limitMs: number): StorageCase {
  return {
    name,
    async run() {
      const opened = await open()
      const subject: StorageUnderTest = 'getItem' in opened ? { handle: () => opened } : opened
      try {
        const checked = check(async () => subject.handle())
        await withTimeout(limitMs, checked)
      } finally {
        await subject.close?.()
      }
    },
  }
}

/** Throws unless both are the same as JSON. undefined and null count as equal. */
export function same(what: string, seen: unknown, expected: unknown): void {
  const [left = '', right = ''] = [seen, expected].map((value) => JSON.stringify(value ?? null))
  // A record may have 32 KiB.
  if (left !== right) throw new Error(`${what}: expected ${right.slice(0, 200)}, saw ${left.slice(0, 200)}.`)
}

/** Throws unless the work rejects. */
export async function refused(what: string, work: Promise<unknown>): Promise<void> {
  same(what, (await succeeds(work)) ? 'resolved' : 'rejected', 'rejected')
}
