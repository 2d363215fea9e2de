import type { MaybePromise, TokenStorage } from '../storage/token-storage.ts'

/** One empty set of records and the ways to it. */
export interface StorageUnderTest {
  /** A handle on the same records, as another tab, process or machine has it; where there are none, the same object. */
  handle(): MaybePromise<TokenStorage>
  /** Releases what `handle` opened. Called after each case. */
  close?(): MaybePromise<void>
}

/** Makes an empty storage for one case. */
export type StorageFactory = () => MaybePromise<StorageUnderTest | TokenStorage>

/** One promise of a storage, for any test runner. */
export interface StorageCase {
  /** What the storage promises. */
  readonly name: string
  /** Resolves when the storage keeps the promise; rejects with an error that says what was seen instead. */
  run(): Promise<void>
}

/** Gets handles and tries one promise on them. */
export type Check = (handle: () => Promise<TokenStorage>) => Promise<void>

/** By name, in order. */
export type Checks = Readonly<Record<string, Check>>

/** Keys as the library makes them. */
export const recordKey = 'agent-auth:https%3A%2F%2Fauth.example.com:app:default'

/** Makes a case of a check: opens, tries, closes, and gives up after `limitMs`. */
export function caseOf(name: string, check: Check, open: StorageFactory, limitMs: number): StorageCase {
  return {
    name,
    async run() {
      const opened = await open()
      const subject: StorageUnderTest = 'getItem' in opened ? { handle: () => opened } : opened
      try {
        await within(
          limitMs,
          check(async () => subject.handle()),
        )
      } finally {
        await subject.close?.()
      }
    },
  }
}

/** Fails unless both are the same as JSON; undefined and null count as one. */
export function same(what: string, seen: unknown, expected: unknown): void {
  const [left, right] = [seen, expected].map((value) => JSON.stringify(value ?? null))
  if (left !== right) throw new Error(`${what}: expected ${shorten(right)}, saw ${shorten(left)}.`)
}

/** Fails unless the work rejects. */
export async function refused(what: string, work: Promise<unknown>): Promise<void> {
  const outcome = await work.then(
    () => 'resolved',
    () => 'rejected',
  )
  same(what, outcome, 'rejected')
}

/** Lets everything run that waits for no more than a moment. */
export function pause(ms: number = 1): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function shorten(text: string | undefined): string {
  return text !== undefined && text.length > 200 ? `${text.slice(0, 200)}… (${text.length} characters)` : String(text)
}

async function within(limitMs: number, work: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It had not ended after ${limitMs} ms.`)), limitMs)
  })
  await Promise.race([limit, work]).finally(() => clearTimeout(timer))
}
