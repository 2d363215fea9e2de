import { AsyncResource } from 'node:async_hooks'
import { beforeEach, describe, expect, test } from 'vitest'
import { AgentAuthError } from '../../src/errors.ts'
import type { Lease } from '../../src/storage/shared/lease.ts'
import { leasedStorage, type RecordDatabase, type SharedStorage } from '../../src/storage/shared/leased-storage.ts'
import { flush, type VirtualTime, virtualTime } from '../support/virtual-time.ts'

/** What a database was asked, by the name of its operation. */
type Asked = readonly [operation: keyof RecordDatabase, ...rest: unknown[]]

class MemoryDatabase implements RecordDatabase {
  readonly records = new Map<string, string>()
  readonly asked: Asked[] = []
  owner: string | undefined
  /** Runs before each operation, which fails or waits as it does. */
  before: (operation: keyof RecordDatabase) => Promise<void> | void = () => {}

  async acquire(lease: Lease, leaseMs: number): Promise<boolean> {
    await this.ask('acquire', lease, leaseMs)
    this.owner ??= lease.owner
    return this.owner === lease.owner
  }
  async renew(lease: Lease): Promise<boolean> {
    await this.ask('renew', lease)
    return this.owner === lease.owner
  }
  async release(lease: Lease): Promise<void> {
    await this.ask('release', lease)
    if (this.owner === lease.owner) this.owner = undefined
  }
  async read(key: string, from: 'any copy' | 'primary'): Promise<string | null> {
    await this.ask('read', key, from)
    return this.records.get(key) ?? null
  }
  async write(key: string, value: string, lease: Lease | undefined): Promise<boolean> {
    await this.ask('write', key, value, lease?.name)
    const isHeld = lease === undefined || this.owner === lease.owner
    if (isHeld) this.records.set(key, value)
    return isHeld
  }
  async remove(key: string, lease: Lease): Promise<boolean> {
    await this.ask('remove', key, lease.name)
    return this.owner === lease.owner && this.records.delete(key)
  }
  async removeIf(key: string, value: string): Promise<boolean> {
    await this.ask('removeIf', key, value)
    return this.records.get(key) === value && this.records.delete(key)
  }
  reasonOf(error: unknown): string | undefined {
    return (error as { code?: string }).code
  }
  private async ask(...asked: Asked): Promise<void> {
    this.asked.push(asked)
    await this.before(asked[0])
  }
}

let time: VirtualTime
let database: MemoryDatabase
let storage: SharedStorage
beforeEach(() => {
  time = virtualTime()
  database = new MemoryDatabase()
  storage = leasedStorage(database)
})

const operations = (): string[] => database.asked.map(([operation]) => operation)

/** The error of a call that takes as long as it wants. */
const errorOf = (work: Promise<unknown>): Promise<AgentAuthError> =>
  time.until(
    work.then(
      () => expect.unreachable('it succeeded'),
      (error: AgentAuthError) => error,
    ),
  )

describe('records', () => {
  test('are read from any copy, and under the lock from the one that takes the writes', async () => {
    expect(await storage.getItem('key')).toBeNull()
    await storage.setItem('key', 'value')
    expect(await storage.getItem('key')).toBe('value')
    await storage.withLock('name', async () => expect(await storage.getItem('key')).toBe('value'))
    expect(database.asked.filter(([operation]) => operation === 'read')).toEqual([
      ['read', 'key', 'any copy'],
      ['read', 'key', 'any copy'],
      ['read', 'key', 'primary'],
    ])
  })

  test('are written and removed with the lease of their task, and without one outside of a task', async () => {
    await storage.setItem('key', 'first')
    await storage.withLock('key', async () => {
      await storage.setItem('key', 'second')
      await storage.removeItem('key')
    })
    await storage.setItem('key', 'third')
    await storage.removeItem('key')
    expect(database.asked.filter(([operation]) => !/acquire|release/.test(operation))).toEqual([
      ['write', 'key', 'first', undefined],
      ['write', 'key', 'second', 'key'],
      ['remove', 'key', 'key'],
      ['write', 'key', 'third', undefined],
      ['read', 'key', 'primary'],
      ['removeIf', 'key', 'third'],
    ])
    expect(database.records.size).toBe(0)
  })

  test.each<[string, () => Promise<void>]>([
    ['write', () => storage.setItem('key', 'new')],
    ['removal', () => storage.removeItem('key')],
  ])('a %s after the lock was lost does nothing and is storage_failed', async (_, operate) => {
    await storage.setItem('key', 'old')
    const work = storage.withLock('key', async () => {
      database.owner = 'another'
      await operate()
    })
    expect(await errorOf(work)).toMatchObject({ code: 'storage_failed', retryable: true })
    expect(database.records.get('key')).toBe('old')
    expect(database.owner).toBe('another')
  })

  test('a removal without a lock also removes what is written while it runs', async () => {
    await storage.setItem('key', 'old')
    let writes = 0
    database.before = (operation) => {
      if (operation === 'removeIf' && writes++ === 0) database.records.set('key', 'new')
    }
    await storage.removeItem('key')
    expect(operations()).toEqual(['write', 'read', 'removeIf', 'read', 'removeIf'])
    expect(database.records.size).toBe(0)
  })

  test('a removal without a lock that was given up removes nothing later', async () => {
    await storage.setItem('key', 'old')
    let answer = (): void => {}
    database.before = () =>
      new Promise((resolve) => {
        answer = resolve
      })
    expect(await errorOf(storage.removeItem('key'))).toMatchObject({ code: 'storage_failed', retryable: true })
    expect(time.nowMs()).toBe(2_750)
    answer()
    await flush()
    expect(operations()).toEqual(['write', 'read'])
  })

  test.each(['plain', '😀', '', 'a json:'])('the text %j is stored as it is', async (text) => {
    await storage.setItem(text, text)
    expect([...database.records]).toEqual([[text, text]])
    expect(await storage.getItem(text)).toBe(text)
  })

  test.each(['\ud800', 'x\udfff', 'a\0b', 'json:', 'json:"a"'])(
    'the text %j is stored as JSON in ASCII',
    async (text) => {
      const stored = `json:${JSON.stringify(text)}`
      await storage.setItem(text, text)
      expect([...database.records]).toEqual([[stored, stored]])
      expect(await storage.getItem(text)).toBe(text)
      await storage.withLock(text, () => storage.removeItem(text))
      expect(database.asked.at(-2)).toEqual(['remove', stored, stored])
      expect(database.records.size).toBe(0)
      await storage.setItem(text, text)
      await storage.removeItem(text)
      expect(database.records.size).toBe(0)
    },
  )
})

describe('the lock', () => {
  test('is a lease of 8 s with an owner of its own for each task, and is released', async () => {
    await storage.withLock('name', async () => expect(database.owner).toMatch(/^[\da-f-]{36}$/))
    await storage.withLock('name', async () => {})
    const owners = database.asked.map(([, lease]) => (lease as Lease).owner)
    expect(owners[0]).toBe(owners[1])
    expect(owners[2]).toBe(owners[3])
    expect(owners[0]).not.toBe(owners[2])
    expect(database.asked[0]).toEqual(['acquire', { name: 'name', owner: owners[0] }, 8_000])
    expect(operations()).toEqual(['acquire', 'release', 'acquire', 'release'])
    expect(time.pendingTimers).toBe(0)
  })

  test('a waiter whose signal fires gets its reason, and its task never runs', async () => {
    database.owner = 'another'
    const stop = new AbortController()
    const reason = new Error('left')
    const waiting = storage
      .withLock('name', () => expect.unreachable('it ran'), { signal: stop.signal })
      .catch((error: unknown) => error)
    await time.pass(100)
    stop.abort(reason)
    expect(await waiting).toBe(reason)
  })

  test.each<[string, Error]>([
    ['ECONNREFUSED', Object.assign(new Error('at 10.0.0.1'), { code: 'ECONNREFUSED' })],
    ['busy', new AgentAuthError('timeout', 'It took long.')],
  ])('a lease that cannot be taken is storage_failed: %s', async (_, error) => {
    database.before = () => Promise.reject(error)
    const failure = await errorOf(storage.withLock('name', () => expect.unreachable('it ran')))
    expect(failure).toMatchObject({ code: 'storage_failed', retryable: true })
    expect(failure.message).not.toContain(error.message)
  })
})

describe('an error of the database', () => {
  const fails = (error: unknown): Promise<AgentAuthError> => {
    database.before = () => Promise.reject(error)
    return errorOf(storage.getItem('key'))
  }

  test.each<[string, unknown, string]>([
    ['with a code', Object.assign(new Error('the record'), { code: '57P01' }), '(57P01)'],
    ['that is undefined', undefined, '(no code)'],
    ['of this library', new AgentAuthError('timeout', 'the record'), '(timeout)'],
  ])('%s is replaced by storage_failed, which says its code and nothing else of it', async (_, error, reason) => {
    const failure = await fails(error)
    expect(failure).toMatchObject({ code: 'storage_failed', retryable: true })
    expect(failure.message).toContain(reason)
    expect(failure.message).not.toContain('the record')
  })

  test('no answer within 2.75 s is storage_failed', async () => {
    database.before = () => new Promise(() => {})
    expect((await errorOf(storage.setItem('key', 'value'))).message).toContain('(timeout)')
    expect(time.nowMs()).toBe(2_750)
  })
})

describe('ready', () => {
  test('takes and frees a lease of its own, and reads', async () => {
    await storage.ready()
    await storage.ready()
    const [first, second] = [database.asked[0]?.[1] as Lease, database.asked[3]?.[1] as Lease]
    expect(first.name).toMatch(/^ready:[\da-f-]{36}$/)
    expect(first.name).not.toBe(second.name)
    expect(database.asked.slice(0, 3)).toEqual([
      ['acquire', { name: first.name, owner: first.name }, 2_750],
      ['read', first.name, 'any copy'],
      ['release', first],
    ])
  })

  test('a database that gives no lease is not ready', async () => {
    database.owner = 'another'
    expect(await errorOf(storage.ready())).toMatchObject({ code: 'storage_failed', retryable: true })
  })
})

test('storages that were used leave one mark on later promises of the process, and not one each', async () => {
  const marks = (): number => Object.getOwnPropertySymbols(new AsyncResource('later')).length
  await storage.withLock('name', async () => {})
  const withOne = marks()
  for (let index = 0; index < 20; index += 1) await leasedStorage(new MemoryDatabase()).withLock('name', async () => {})
  expect(marks()).toBe(withOne)
})

test('a task writes with its lease also while it runs under another lock', async () => {
  const other = leasedStorage(new MemoryDatabase())
  await storage.withLock('name', () => other.withLock('name', () => storage.setItem('name', 'value')))
  expect(database.asked).toContainEqual(['write', 'name', 'value', 'name'])
})
