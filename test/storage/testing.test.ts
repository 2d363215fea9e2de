import { encryptedStorage, memoryStorage, type TokenStorage } from 'agent-auth'
import { type StorageFactory, type StorageUnderTest, storageSuite } from 'agent-auth/testing'
import { createStorage } from 'unstorage'
import memoryDriver from 'unstorage/drivers/memory'
import { describe, expect, test } from 'vitest'
import { sharedRecords } from '../support/shared-records.ts'

type WithLock = NonNullable<TokenStorage['withLock']>

/** The names of the cases that fail, with what they say. */
async function failures(open: StorageFactory, options: Parameters<typeof storageSuite>[1] = {}): Promise<string[]> {
  const outcomes = await Promise.all(
    storageSuite(open, options).map(({ name, run }) =>
      run().then(
        () => undefined,
        () => name,
      ),
    ),
  )
  return outcomes.filter((name) => name !== undefined)
}

/** A handle that works, with some of its members replaced. */
function variant(change: (honest: Required<TokenStorage>) => Partial<TokenStorage>): StorageFactory {
  return () => {
    const records = sharedRecords()
    const handle = (): TokenStorage => {
      const honest = records.handle() as Required<TokenStorage>
      return { ...honest, ...change(honest) }
    }
    return { handle }
  }
}

/** Records behind an object that has the members of localStorage, and no lock. */
function localStorageShaped(): TokenStorage {
  const items = new Map<string, string>()
  return {
    getItem: (key) => items.get(String(key)) ?? null,
    setItem: (key, value) => void items.set(String(key), String(value)),
    removeItem: (key) => void items.delete(String(key)),
  }
}

describe('storages that keep the contract', () => {
  test('localStorage, used by one page', async () => {
    expect(await failures(localStorageShaped, { lock: 'none' })).toEqual([])
  })

  test('unstorage as it is, which parses what it reads and reads more into a key', async () => {
    // Its `a/b` and `a:b` are one key; no two keys of the library differ in that alone.
    const open = (): TokenStorage => createStorage({ driver: memoryDriver() })
    expect(await failures(open, { lock: 'none' })).toEqual([])
  })

  test('memory, and sealed memory, with a lock', async () => {
    expect(await failures(memoryStorage)).toEqual([])
    const keys = [{ id: 'a', key: new Uint8Array(32) }]
    expect(await failures(() => encryptedStorage(memoryStorage(), { keys }))).toEqual([])
  })

  test('what a case opened it closes, whether it passes or fails', async () => {
    let open = 0
    const opened = (storage: TokenStorage): StorageUnderTest => {
      open += 1
      const close = (): void => {
        open -= 1
      }
      return { handle: () => storage, close }
    }
    expect(await failures(() => opened(memoryStorage()))).toEqual([])
    expect(
      await failures(() => opened({ ...memoryStorage(), getItem: () => 'always this' }), { limitMs: 700 }),
    ).not.toEqual([])
    expect(open).toBe(0)
  })
})

describe('a broken storage', () => {
  const text = (value: string | null | undefined): string => value ?? ''
  const unlocked: WithLock = async (_name, task) => task()
  const broken: Record<string, [caught: string, open: StorageFactory]> = {
    'has no lock': ['loses no update of fifty turns behind one lock', localStorageShaped],
    'has a lock that excludes nobody': [
      'loses no update of fifty turns behind one lock',
      variant(() => ({ withLock: unlocked })),
    ],
    'locks each handle for itself': [
      'loses no update of fifty turns behind one lock',
      () => {
        const records = sharedRecords()
        return { handle: () => ({ ...records.handle(), withLock: memoryStorage().withLock as WithLock }) }
      },
    ],
    'has one lock for all names': [
      'keeps other names free',
      variant(({ withLock }) => ({ withLock: (_, ...rest) => withLock('one', ...rest) })),
    ],
    'runs the task twice': [
      'runs a task once and passes on what it gives',
      variant(({ withLock }) => ({
        withLock: (name, task, options) => withLock(name, () => task().then(task), options),
      })),
    ],
    'swallows the error of the task': [
      'passes on what a task throws and is free afterwards',
      variant(({ withLock }) => ({ withLock: (...given) => withLock(...given).catch(() => undefined as never) })),
    ],
    'stays locked after a failure': [
      'passes on what a task throws and is free afterwards',
      variant(({ withLock }) => ({
        withLock: (name, task, options) =>
          new Promise((resolve, reject) => {
            const kept = (): Promise<never> =>
              task().then(resolve as never, (error) => {
                reject(error)
                return new Promise<never>(() => {})
              })
            withLock(name, kept, options).then(resolve, reject)
          }),
      })),
    ],
    'ignores the signal while it waits': [
      'runs nothing for a waiter whose signal fires, but for those behind it',
      variant(({ withLock }) => ({ withLock: (name, task) => withLock(name, task) })),
    ],
    'lets those behind a waiter that gave up go first': [
      'runs nothing for a waiter whose signal fires, but for those behind it',
      variant(({ withLock }) => ({
        withLock: (name, task, options) =>
          options
            ? withLock(name, task, options)
            : Promise.race([
                withLock(name, async () => {}).then(task),
                new Promise((resolve) => setTimeout(resolve, 30)).then(task),
              ]),
      })),
    ],
    'runs the task although the signal fired before': [
      'runs nothing when the signal fired before',
      variant(({ withLock }) => ({
        withLock: (name, task, options) => (options?.signal?.aborted ? task() : withLock(name, task, options)),
      })),
    ],
    'gives the lock away when the signal fires': [
      'stays locked when the signal fires once the lock was had',
      variant(({ withLock }) => ({
        withLock: async (name, task, options) => {
          const fired = new Promise<void>((resolve) => options?.signal?.addEventListener('abort', () => resolve()))
          const works: Promise<never>[] = []
          const begun = (): Promise<never> => {
            const work = task() as Promise<never>
            works.push(work)
            return work
          }
          await withLock(name, () => Promise.race([fired, begun()]))
          return works[0] as never
        },
      })),
    ],
    'refuses the write of a holder': [
      'lets a holder write, for all to see',
      variant(({ withLock, setItem }) => {
        let holding = false
        return {
          withLock: (name, task, options) =>
            withLock(
              name,
              async () => {
                holding = true
                return task().finally(() => {
                  holding = false
                })
              },
              options,
            ),
          setItem: (key, value) => (holding ? undefined : setItem(key, value)),
        }
      }),
    ],
    'loses a write': ['gives back every record as it was put', variant(() => ({ setItem: () => {} }))],
    'ends a write before it is seen': [
      'shows every handle what was put last',
      variant(({ setItem }) => ({ setItem: (key, value) => void setTimeout(() => setItem(key, value), 5) })),
    ],
    'shows a handle what it read before': [
      'shows every handle what was put last',
      variant(({ getItem, setItem }) => {
        const seen = new Map<string, string | null>()
        return {
          async getItem(key) {
            const known = seen.get(key) ?? (await getItem(key)) ?? null
            seen.set(key, known)
            return known
          },
          setItem(key, value) {
            seen.set(key, value)
            return setItem(key, value)
          },
        }
      }),
    ],
    'does not remove': [
      'removes for every handle, and again without complaint',
      variant(() => ({ removeItem: () => {} })),
    ],
    'gives an empty text for nothing': [
      'removes for every handle, and again without complaint',
      variant(({ getItem }) => ({ getItem: async (key) => text(await getItem(key)) })),
    ],
    'keeps one byte of each character': [
      'gives back every record as it was put',
      variant(({ setItem }) => ({
        setItem: (key, value) => setItem(key, Buffer.from(value, 'latin1').toString('latin1')),
      })),
    ],
    'knows one case of letters': [
      'tells keys apart',
      variant(({ getItem, setItem, removeItem }) => ({
        getItem: (key) => getItem(key.toLowerCase()),
        setItem: (key, value) => setItem(key.toLowerCase(), value),
        removeItem: (key) => removeItem(key.toLowerCase()),
      })),
    ],
  }

  test.each(Object.entries(broken))('that %s is caught, by name', async (_, [caught, open]) => {
    expect(await failures(open, { limitMs: 700 })).toContain(caught)
  })

  test('every case of the contract catches one of them', () => {
    const catching = new Set(Object.values(broken).map(([caught]) => caught))
    const names = storageSuite(memoryStorage).map(({ name }) => name)
    expect([...catching].filter((name) => !names.includes(name))).toEqual([])
    const recordsAndLock = names.slice(0, names.indexOf('lets a holder write, for all to see') + 1)
    expect(recordsAndLock.filter((name) => !catching.has(name))).toEqual([])
  })

  test('a failing case says what was expected and what was seen', async () => {
    const [first] = storageSuite(variant(() => ({ setItem: () => {} })))
    await expect(first?.run()).rejects.toThrow('the text of a record: expected "{\\"v\\":1}", saw "null".')
  })

  test('sessions on a storage whose handles see different records fail by name', async () => {
    const open = (): StorageUnderTest => ({ handle: () => memoryStorage() })
    expect(await failures(open, { limitMs: 700 })).toEqual(
      expect.arrayContaining([
        'carries a session to another handle, and one refresh serves both',
        'ends a session on every handle when one signs out',
        'stays signed out when another handle was refreshing',
        'keeps a new sign-in when another handle was refreshing',
      ]),
    )
  })
})
