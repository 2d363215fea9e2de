import { afterEach, describe, expect, it, vi } from 'vitest'
import { type PendingLogin, startLogin } from '../../src/authorize.ts'
import { readCallback } from '../../src/callback.ts'
import { exchangeCode } from '../../src/exchange.ts'
import { pendingLogins } from '../../src/pending-logins.ts'
import { memoryStorage } from '../../src/storage/memory.ts'
import type { TokenStorage } from '../../src/storage/token-storage.ts'
import { assertNoLeak, registerSecret, secret } from '../support/canary.ts'
import { testClock } from '../support/clock.ts'
import { callbackUrl, configWith, failure, json, redirectUri, scriptedFetch } from '../support/token-flow.ts'

afterEach(() => vi.useRealTimers())

/** A storage without a lock whose content can be looked at, each call a turn of the event loop later. */
function openStorage(): TokenStorage & { items: Map<string, string> } {
  const items = new Map<string, string>()
  const later = () => new Promise((resolve) => setImmediate(resolve))
  return {
    items,
    async getItem(key) {
      await later()
      return items.get(key) ?? null
    },
    async setItem(key, value) {
      await later()
      items.set(key, value)
    },
    async removeItem(key) {
      await later()
      items.delete(key)
    },
  }
}

/** A storage whose named call fails, from the given call on. */
function failing(call: 'getItem' | 'setItem' | 'removeItem', error: unknown, from = 1): TokenStorage {
  const inner = openStorage()
  let calls = 0
  return Object.assign(inner, {
    [call]: (key: string, value: string) => {
      calls += 1
      if (calls >= from) throw error
      return call === 'setItem' ? inner.items.set(key, value) : undefined
    },
  })
}

function records({ items }: { items: Map<string, string> }): PendingLogin[] {
  return [...items.values()].map((text) => JSON.parse(text)).filter((value) => value?.v === 1)
}

function setUp() {
  const clock = testClock()
  const { fetch, calls } = scriptedFetch(() => json({ access_token: 'x' }))
  const config = configWith({ clock, fetch })
  const storage = openStorage()
  const logins = pendingLogins(storage, { clock })
  const begin = async (returnTo?: string): Promise<PendingLogin> => {
    const { pending } = await startLogin(config, { returnTo })
    await logins.save(pending)
    return pending
  }
  /** All of a callback page: take, read, exchange. */
  const finish = async (url: string, from = logins) => {
    const grant = readCallback(await from.take(url), url, { nowMs: clock.wallMs() })
    return exchangeCode(config, grant)
  }
  return { clock, config, storage, logins, calls, begin, finish }
}

describe('saving', () => {
  it('the whole record is stored when save resolves, and take gives it back', async () => {
    const { storage, logins, begin } = setUp()
    const pending = await begin('/deep')
    expect(records(storage)).toEqual([JSON.parse(JSON.stringify(pending))])
    // Logins that began before an update of the library are found under the same keys.
    expect([...storage.items.keys()]).toEqual([`agent-auth:login:${pending.state}`, 'agent-auth:login'])
    const taken = await logins.take(callbackUrl(pending, { code: 'c' }))
    expect(JSON.stringify(taken)).toBe(JSON.stringify(pending))
    expect(taken.returnTo).toBe('/deep')
  })

  it.each([
    ['QuotaExceededError', new DOMException('quota', 'QuotaExceededError')],
    ['SecurityError', new DOMException('denied', 'SecurityError')],
    ['something that is no error', 'full'],
  ])('%s on writing stops the login with storage_failed', async (_, thrown) => {
    const { pending } = await startLogin(configWith())
    registerSecret('verifier', pending.codeVerifier)
    const quoting = thrown instanceof Error ? Object.assign(thrown, { record: JSON.stringify(pending) }) : thrown
    for (const from of [1, 2]) {
      const error = await failure(pendingLogins(failing('setItem', quoting, from)).save(pending))
      expect(error).toMatchObject({ code: 'storage_failed', retryable: true })
      expect(error.cause).toBeUndefined()
      assertNoLeak(error)
    }
    expect(await failure(pendingLogins(failing('getItem', quoting)).save(pending))).toMatchObject({
      code: 'storage_failed',
    })
  })

  it('of a hundred logins the newest sixteen remain, and other keys are left alone', async () => {
    const { clock, storage, begin, finish, calls } = setUp()
    storage.items.set('other', '"value"')
    const all: PendingLogin[] = []
    for (let at = 0; at < 100; at++) {
      all.push(await begin())
      clock.advance(1_000)
    }
    expect(new Set(records(storage).map(({ state }) => state))).toEqual(
      new Set(all.slice(-16).map(({ state }) => state)),
    )
    expect(storage.items.get('other')).toBe('"value"')
    const [evicted, ...kept] = all.slice(-17)
    expect(await failure(finish(callbackUrl(evicted as PendingLogin, { code: 'c' })))).toMatchObject({
      code: 'flow_not_found',
    })
    for (const pending of kept) await finish(callbackUrl(pending, { code: 'c' }))
    expect(calls).toHaveLength(16)
    expect(records(storage)).toEqual([])
  })

  it('after ten minutes and a second a login has expired, and the next start removes it', async () => {
    const { clock, storage, begin, finish, calls } = setUp()
    const late = await begin()
    const never = await begin()
    clock.advance(601_000)
    expect(await failure(finish(callbackUrl(late, { code: 'c' })))).toMatchObject({ code: 'flow_expired' })
    const fresh = await begin()
    expect(records(storage).map(({ state }) => state)).toEqual([fresh.state])
    expect(await failure(finish(callbackUrl(never, { code: 'c' })))).toMatchObject({ code: 'flow_not_found' })
    expect(calls).toEqual([])
  })

  it('a login just under ten minutes old is not removed by a start', async () => {
    const { clock, begin, finish } = setUp()
    const slow = await begin()
    clock.advance(600_000)
    await begin()
    expect(await finish(callbackUrl(slow, { code: 'c' }))).toMatchObject({ accessToken: 'x' })
  })

  it('logins that run at once don’t overwrite each other, in every order of their ends', async () => {
    const { config, logins, finish, storage, calls } = setUp()
    const started = await Promise.all(Array.from({ length: 16 }, () => startLogin(config)))
    await Promise.all(started.map(({ pending }) => logins.save(pending)))
    expect(records(storage)).toHaveLength(16)
    for (const { pending } of started.reverse()) {
      await finish(callbackUrl(pending, { code: 'c' }))
      expect(new URLSearchParams(String(calls.at(-1)?.init.body)).get('code_verifier')).toBe(pending.codeVerifier)
    }
    expect(calls).toHaveLength(16)
  })

  it('two users of one storage share the lock that it brings along', async () => {
    const held: string[] = []
    const storage = memoryStorage()
    const locking: TokenStorage = {
      ...storage,
      async withLock(name, task) {
        held.push(name)
        return storage.withLock ? storage.withLock(name, task) : task()
      },
    }
    const { config, clock } = setUp()
    const { pending } = await startLogin(config)
    await pendingLogins(locking, { clock }).save(pending)
    await pendingLogins(locking, { clock }).take(callbackUrl(pending, { code: 'c' }))
    expect(held).toHaveLength(2)
    expect(new Set(held).size).toBe(1)
  })
})

describe('taking', () => {
  it('fifty callbacks at once, through two users of the storage: one token request', async () => {
    const { storage, clock, begin, finish, logins, calls } = setUp()
    const other = pendingLogins(storage, { clock })
    const url = callbackUrl(await begin(), { code: secret('code') })
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, (_, at) => finish(url, at % 2 ? other : logins)),
    )
    expect(calls).toHaveLength(1)
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const codes = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []))
    expect(codes).toEqual(Array.from({ length: 49 }, () => 'already_handled'))
  })

  it('the record is gone before the token request goes out', async () => {
    const { clock, storage, logins } = setUp()
    const left: number[] = []
    const { fetch } = scriptedFetch(() => {
      left.push(records(storage).length)
      return json({ access_token: 'x' })
    })
    const config = configWith({ clock, fetch })
    const { pending } = await startLogin(config)
    await logins.save(pending)
    const url = callbackUrl(pending, { code: 'c' })
    await exchangeCode(config, readCallback(await logins.take(url), url, { nowMs: clock.wallMs() }))
    expect(left).toEqual([0])
  })

  it.each([
    ['getItem', 2],
    ['setItem', 3],
  ] as const)('when %s fails, there is no token request', async (call, from) => {
    const { config, clock, finish, calls } = setUp()
    const { pending } = await startLogin(config)
    registerSecret('verifier', pending.codeVerifier)
    const logins = pendingLogins(failing(call, new Error(pending.codeVerifier), from), { clock })
    await logins.save(pending)
    const error = await failure(finish(callbackUrl(pending, { code: 'c' }), logins))
    expect(error).toMatchObject({ code: 'storage_failed', retryable: true })
    expect(error.cause).toBeUndefined()
    expect(calls).toEqual([])
  })

  it('a callback that comes again, after success, failure or denial: already_handled', async () => {
    const { begin, finish } = setUp()
    for (const query of [{ code: 'c' }, { error: 'access_denied' }, { code: 'c', error: 'x' }, {}] as Record<
      string,
      string
    >[]) {
      const url = callbackUrl(await begin(), query)
      await finish(url).catch(() => {})
      for (let again = 0; again < 3; again++)
        expect(await failure(finish(url))).toMatchObject({ code: 'already_handled', retryable: false })
    }
  })

  it('a handled login is remembered until ten minutes after it began, and not as a secret', async () => {
    const { clock, storage, begin, finish } = setUp()
    const pending = await begin()
    registerSecret('verifier', pending.codeVerifier)
    const url = callbackUrl(pending, { code: secret('code') })
    clock.advance(300_000)
    await finish(url)
    for (const [key, value] of storage.items) assertNoLeak(key + value, 'storage')
    clock.advance(300_000)
    await begin()
    expect(await failure(finish(url))).toMatchObject({ code: 'already_handled' })
    clock.advance(1_000)
    await begin()
    expect(await failure(finish(url))).toMatchObject({ code: 'flow_not_found' })
  })

  it('an error without a valid state changes nothing: the login goes on', async () => {
    const { storage, begin, finish } = setUp()
    const pending = await begin()
    const before = new Map(storage.items)
    for (const query of [
      '?error=access_denied',
      '?error=access_denied&state=',
      `?error=access_denied&state=${'A'.repeat(43)}`,
      `?code=attacker&state=${'A'.repeat(43)}`,
      '?code=coupon',
      '',
    ])
      expect(await failure(finish(redirectUri + query))).toMatchObject({ code: 'flow_not_found' })
    expect(await failure(finish('https://['))).toMatchObject({ code: 'flow_not_found' })
    expect(storage.items).toEqual(before)
    expect(await finish(callbackUrl(pending, { code: 'c' }))).toMatchObject({ accessToken: 'x' })
  })
})

describe('storages that misbehave', () => {
  it.each(['getItem', 'setItem', 'withLock'])(
    'a storage whose %s never answers: storage_failed, in bounded time',
    async (call) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      const { pending } = await startLogin(configWith())
      const logins = pendingLogins({ ...memoryStorage(), [call]: () => new Promise(() => {}) })
      const saving = failure(logins.save(pending))
      await vi.advanceTimersByTimeAsync(60_000)
      expect(await saving).toMatchObject({ code: 'storage_failed', retryable: true })
      expect(vi.getTimerCount()).toBe(0)
    },
  )

  it.each(['', 'null', '5', '"text"', '[]', '{}', '{"v":2}', '{"v":1', 'garbage', '{"v":1,"state":7}'])(
    'a record that holds %j counts as no login, once',
    async (garbage) => {
      const { storage, logins, finish, begin, calls } = setUp()
      const pending = await begin()
      for (const [key, value] of storage.items) if (value.includes('codeVerifier')) storage.items.set(key, garbage)
      const error = await failure(finish(callbackUrl(pending, { code: 'c' })))
      expect(['flow_not_found', 'storage_failed', 'already_handled']).toContain(error.code)
      await logins.save((await startLogin(configWith())).pending)
      expect(calls).toEqual([])
    },
  )

  it.each(['', 'null', '5', '{}', '[', '[1,null,[],["x"]]', 'garbage'])(
    'an index that holds %j does not stop logins',
    async (garbage) => {
      const { storage, begin, finish } = setUp()
      storage.items.set('agent-auth:login', garbage)
      expect(await finish(callbackUrl(await begin(), { code: 'c' }))).toMatchObject({ accessToken: 'x' })
    },
  )

  it('a storage that parses what it reads back gives the same login', async () => {
    const { clock, config } = setUp()
    const values = new Map<string, unknown>()
    const parsing = {
      getItem: (key: string) => structuredClone(values.get(key) ?? null) as string | null,
      setItem: (key: string, value: string) => void values.set(key, JSON.parse(value)),
      removeItem: (key: string) => void values.delete(key),
    }
    const logins = pendingLogins(parsing, { clock })
    const { pending } = await startLogin(config)
    await logins.save(pending)
    const url = callbackUrl(pending, { code: 'c' })
    expect(JSON.stringify(await logins.take(url))).toBe(JSON.stringify(pending))
    expect(await failure(logins.take(url))).toMatchObject({ code: 'already_handled' })
  })
})
