import type { TokenStorage } from 'agent-auth'
import { gate } from './gate.ts'

type Operation = 'getItem' | 'setItem' | 'removeItem'

export interface RealmOptions {
  /** Whether realms exclude each other, as under Web Locks; without, each locks only itself. Default true. */
  readonly lock?: boolean
  /** Makes the operations asynchronous: each one takes place when this resolves. */
  readonly step?: (operation: Operation) => Promise<void>
  /** Called first; what it throws, the operation throws. */
  readonly fault?: (operation: Operation) => void
}

/** Records that several realms share: every handle is another object over the same items. */
export interface SharedRecords {
  readonly items: Map<string, string>
  handle(options?: RealmOptions): TokenStorage
  /** The one record as stored, read as JSON. */
  record(): Record<string, unknown> | undefined
  /** Puts this text where the one record is, or will be when `like` names its key. */
  put(text: string): void
  /** Called after each change of the items. */
  onChange(listener: () => void): void
}

export function sharedRecords(): SharedRecords {
  const items = new Map<string, string>()
  const listeners: (() => void)[] = []
  const locks = new Map<string, Promise<unknown>>()
  const changed = (): void => {
    for (const listener of listeners) listener()
  }
  const withLock: NonNullable<TokenStorage['withLock']> = async (name, task, { signal } = {}) => {
    const before = locks.get(name)
    const mine = gate()
    locks.set(name, Promise.all([before, mine.passed]))
    try {
      signal?.throwIfAborted()
      await Promise.race([before, aborted(signal)])
      return await task()
    } finally {
      mine.open()
    }
  }
  return {
    items,
    handle({ lock = true, step, fault } = {}) {
      const perform = <T>(operation: Operation, run: () => T): T | Promise<T> => {
        const failing = (): T => {
          fault?.(operation)
          return run()
        }
        return step ? step(operation).then(failing) : failing()
      }
      return {
        getItem: (key) => perform('getItem', () => items.get(key) ?? null),
        setItem: (key, value) =>
          perform('setItem', () => {
            items.set(key, value)
            changed()
          }),
        removeItem: (key) =>
          perform('removeItem', () => {
            items.delete(key)
            changed()
          }),
        ...(lock && { withLock }),
      }
    },
    record() {
      const [text] = items.values()
      return text === undefined ? undefined : (JSON.parse(text) as Record<string, unknown>)
    },
    put(text) {
      const [key] = items.keys()
      if (key === undefined) throw new Error('There is no record yet whose key could be used.')
      items.set(key, text)
    },
    onChange: (listener) => void listeners.push(listener),
  }
}

function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason))
  })
}
