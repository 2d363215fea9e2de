import { readFileSync } from 'node:fs'
import { AgentAuthError, createSession, memoryStorage, type TokenStorage } from 'agent-auth'
import { createBrowserAuth, indexedDbStorage, popupLogin, webStorage } from 'agent-auth/browser'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { callbackMode, markedState } from '../../src/browser/callback-url.ts'
import { loginFinisher } from '../../src/browser/finish-login.ts'
import { countAutomatic, noteSuccess } from '../../src/browser/login-loop.ts'
import { fallbackStorage, unreadRecord } from '../../src/browser/storage/memory-fallback.ts'
import { createTabSession } from '../../src/browser/tabs/tab-session.ts'
import { encodeRecord, type SessionRecord, sessionName } from '../../src/session/record.ts'
import { createTokens } from '../../src/tokens.ts'
import { type TestClock, testClock } from '../support/clock.ts'
import { configWith, failure, grantFor, json, scriptedFetch } from '../support/token-flow.ts'
import { flush } from '../support/virtual-time.ts'

// What needs no page; everything else is in test/browser, in a real one.

const options = {
  authUrl: 'https://auth.example.com',
  baseUrl: 'https://api.example.com',
  clientId: 'app',
  redirectUri: 'https://app.example.com/callback',
}
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

const record = (): SessionRecord => ({ id: 'a', rev: 1, tokens: createTokens({ accessToken: 'a', obtainedAtMs: 0 }) })

const never = (): Promise<never> => new Promise(() => {})

const state = markedState('redirect', 'a'.repeat(43))

describe('callback addresses', () => {
  it.each([
    [`/callback?code=x&state=${state}`, 'redirect'],
    [`/callback?tab=1&state=${state}&code=x&iss=y#/route?a=1`, 'redirect'],
    [`/callback?code=x&state=${state}#_=_`, 'redirect'],
    [`/callback?error=access_denied&state=${state}`, 'redirect'],
    [`/callback?code=x&state=${markedState('popup', 'a'.repeat(43))}`, 'popup'],
    [`/callback?code=&state=${state}`, undefined],
    [`/callback?code=x&state=${state}a`, undefined],
    [`/callback?code=x&state=x${state}`, undefined],
    [`/callback?code=x&state=${state.slice(2)}`, undefined],
    [`/callback?state=${state}`, undefined],
    [`/callback/?code=x&state=${state}`, undefined],
    [`/other?code=x&state=${state}`, undefined],
    [`/callback#code=x&state=${state}`, undefined],
    [`https://evil.example/callback?code=x&state=${state}`, undefined],
    ['https://', undefined],
  ])('%s is %s', (address, mode) => {
    expect(callbackMode(options.redirectUri, address)).toBe(mode)
    expect(createBrowserAuth(options).isCallbackUrl(address)).toBe(mode !== undefined)
  })
})

describe('a popup that hands over its callback', () => {
  it('waits for the page that began its login, and takes no answer to another login for its own', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    const close = vi.fn()
    vi.stubGlobal('window', { close })
    const page = new BroadcastChannel('app:popup')
    const heard = (): Promise<unknown> =>
      new Promise((resolve) => page.addEventListener('message', resolve, { once: true }))
    const callback = heard()
    const done = popupLogin().handOver('app', `${options.redirectUri}?code=x&state=own`)
    await callback
    const witness = new BroadcastChannel('app:popup')
    const passed = new Promise((resolve) => witness.addEventListener('message', resolve, { once: true }))
    page.postMessage({ type: 'received', state: 'of another' })
    await passed
    await new Promise((resolve) => setImmediate(resolve))
    expect(close).not.toHaveBeenCalled()
    page.postMessage({ type: 'received', state: 'own' })
    await expect.poll(() => close).toHaveBeenCalledOnce()
    await vi.advanceTimersByTimeAsync(1_000)
    await done
    page.close()
    witness.close()
  })
})

describe('the exchange of a popup login', () => {
  /** A login that is about to be redeemed, with a token endpoint that gives this response. */
  const rig = async (respond: () => Response | Promise<Response>) => {
    const { fetch, calls } = scriptedFetch(respond)
    const config = configWith({ fetch })
    const session = createSession(config)
    const navigate = (): void => {}
    const parts = { config, name: 'app', session, loginStorage: memoryStorage(), navigate, handOver: undefined }
    const login = new AbortController()
    const { redeem, discard } = loginFinisher(parts)
    return { calls, session, login, discard, grant: await grantFor(config), redeem }
  }
  const granted = (): Response => json({ access_token: 'x' })

  it('is not begun after an abort: no code is sent', async () => {
    const { calls, session, login, grant, redeem } = await rig(granted)
    login.abort()
    expect((await failure(redeem(grant, login))).code).toBe('aborted')
    expect(calls).toEqual([])
    expect(session.state.status).not.toBe('signed-in')
  })

  it.each(['abort', 'discard'] as const)('ends with its request at an %s', async (how) => {
    const { calls, session, login, discard, grant, redeem } = await rig(never)
    const redeemed = failure(redeem(grant, login))
    await expect.poll(() => calls).toHaveLength(1)
    if (how === 'abort') login.abort()
    else discard()
    expect((await redeemed).code).toBe('aborted')
    await expect.poll(() => calls[0]?.init.signal?.aborted).toBe(true)
    expect(await session.ready()).toEqual({ status: 'signed-out' })
  })

  const steps = Array.from({ length: 40 }, (_, step) => step)

  it.each(steps)('wins or loses as a whole against an abort %d steps after the response came', async (count) => {
    const { login, grant, redeem, session, respond } = await answered()
    const redeemed = redeem(grant, login).then(
      () => 'signed-in',
      () => 'signed-out',
    )
    await respond(count)
    login.abort()
    expect(await redeemed).toBe((await session.ready()).status)
  })

  it.each(steps)('loses against a sign-out %d steps after the response came', async (count) => {
    const { login, grant, redeem, discard, session, respond } = await answered()
    const redeemed = redeem(grant, login).catch(() => {})
    await respond(count)
    const signedOut = session.signOut()
    discard()
    await Promise.all([redeemed, signedOut])
    await flush()
    expect((await session.ready()).status).toBe('signed-out')
  })

  /** A rig whose `respond` gives the response when it was asked for, and resolves some steps later. */
  async function answered() {
    let answer = (_: Response): void => {}
    const made = await rig(() => new Promise((resolve) => (answer = resolve)))
    const respond = async (steps: number): Promise<void> => {
      await expect.poll(() => made.calls).toHaveLength(1)
      answer(granted())
      for (let step = 0; step < steps; step++) await Promise.resolve()
    }
    return { ...made, respond }
  }
})

describe('without a page', () => {
  it('a server can create it, ask for the state and render; nothing is shared between two of them', async () => {
    const [one, two] = [createBrowserAuth(options), createBrowserAuth({ ...options, popup: popupLogin() })]
    expect(await one.ready()).toEqual({ status: 'signed-out' })
    await one.session.signIn({ accessToken: 'only-of-one', obtainedAtMs: Date.now() })
    expect(await two.ready()).toEqual({ status: 'signed-out' })
    expect((await failure(two.fetch('https://api.example.com/x'))).code).toBe('login_required')
    one.close()
    two.close()
  })

  it('storages can be made where there is no browser, and then keep the login in memory', async () => {
    for (const storage of [indexedDbStorage(), webStorage(() => localStorage), webStorage(() => sessionStorage)]) {
      const events: string[] = []
      const auth = createBrowserAuth({ ...options, storage, onEvent: ({ type }) => events.push(type) })
      expect(await auth.ready()).toEqual({ status: 'signed-out' })
      await auth.session.signIn({ accessToken: 'in-memory-now', obtainedAtMs: Date.now() })
      expect(await auth.session.getAccessToken()).toBe('in-memory-now')
      expect(events).toEqual(['storage_degraded'])
    }
  })

  it('a sign-out calls signedOut before it waits for the storage, so that a login in progress is discarded at once', async () => {
    const signedOut = vi.fn()
    const { session, close } = createTabSession(configWith(), {
      storage: undefined,
      key: 'default',
      name: 'app',
      signedOut,
    })
    const done = session.signOut()
    expect(signedOut).toHaveBeenCalledTimes(1)
    await done
    close()
  })

  it('options changed after creation have no effect', async () => {
    const asked: string[] = []
    const answer = (name: string) => async () => {
      asked.push(name)
      return new Response('{}')
    }
    const mutable = { ...options, fetch: answer('first') }
    const auth = createBrowserAuth(mutable)
    Object.assign(mutable, {
      baseUrl: 'https://evil.example',
      fetch: answer('second'),
      redirectUri: 'https://evil.example/',
    })
    await auth.session.signIn({ accessToken: 'a-token', obtainedAtMs: Date.now() })
    await auth.fetch('https://api.example.com/x')
    expect(asked).toEqual(['first'])
    expect(auth.isCallbackUrl(`https://evil.example/?code=x&state=${state}`)).toBe(false)
  })
})

describe('a browser that blocks site data', () => {
  it('keeps the login in memory although even BroadcastChannel throws, as in Firefox', async () => {
    vi.stubGlobal('document', {})
    vi.stubGlobal('addEventListener', () => {})
    const refuse = (): never => {
      throw new DOMException('The operation is insecure.', 'SecurityError')
    }
    vi.stubGlobal('BroadcastChannel', function BroadcastChannel() {
      refuse()
    })
    vi.stubGlobal('location', { href: options.redirectUri, pathname: '/callback' })
    const auth = createBrowserAuth({ ...options, storage: webStorage(refuse) })
    await auth.session.signIn({ accessToken: 'in-memory-now', obtainedAtMs: Date.now() })
    expect(await auth.session.getAccessToken()).toBe('in-memory-now')
    await auth.signOut()
    auth.close()
  })
})

describe('the fallback storage', () => {
  const broken = (error: Error): TokenStorage => ({
    getItem: () => Promise.reject(error),
    setItem: () => Promise.reject(error),
    removeItem: () => Promise.reject(error),
  })

  it('falls back to memory once, also for reads that fail together', async () => {
    const reported: string[] = []
    const listeners = { changed: () => reported.push('changed'), degraded: () => reported.push('degraded') }
    const storage = fallbackStorage(broken(new Error('no')), { ...listeners })
    expect(await Promise.all([storage.getItem('a'), storage.getItem('a')])).toEqual([undefined, undefined])
    await storage.setItem('a', '1')
    expect(await storage.getItem('a')).toBe('1')
    expect(reported).toEqual(['degraded', 'changed'])
  })

  it('falls back to memory if the first read does not end', async () => {
    vi.useFakeTimers({ now: 0 })
    const events: string[] = []
    const storage: TokenStorage = { ...memoryStorage(), getItem: never }
    const auth = createBrowserAuth({ ...options, storage, onEvent: ({ type }) => events.push(type) })
    const ready = auth.ready()
    await vi.advanceTimersByTimeAsync(4_000)
    expect(await ready).toEqual({ status: 'signed-out' })
    await auth.session.signIn({ accessToken: 'in-memory-now', obtainedAtMs: 0 })
    expect(await auth.session.getAccessToken()).toBe('in-memory-now')
    expect(events).toEqual(['storage_degraded'])
  })

  it('does not fall back if the storage was readable before or rejects with an error of this library', async () => {
    const inner = memoryStorage()
    let error: Error | undefined
    const listeners = { changed: () => {}, degraded: () => expect.unreachable() }
    const flaky: TokenStorage = { ...inner, getItem: (key) => (error ? Promise.reject(error) : inner.getItem(key)) }
    const storage = fallbackStorage(flaky, listeners)
    await storage.getItem('a')
    error = new Error('for now')
    await expect(storage.getItem('a')).rejects.toBe(error)
    const sealed = new AgentAuthError('storage_failed', 'No key opens it.')
    await expect(fallbackStorage(broken(sealed), listeners).getItem('a')).rejects.toBe(sealed)
  })

  it('reports no change if a write fails', async () => {
    const full: TokenStorage = { ...memoryStorage(), setItem: () => Promise.reject(new Error('full')) }
    const storage = fallbackStorage(full, { changed: () => expect.unreachable(), degraded: () => expect.unreachable() })
    await expect(storage.setItem('a', '1')).rejects.toThrow('full')
  })
})

describe('the record of an earlier sign-in that could not be read', () => {
  const name = 'agent-auth:name'
  /** A storage that is out of order until `repair` is called, over one that other tabs can use all the time. */
  const rig = () => {
    const clock = testClock()
    const inner = memoryStorage()
    const removed = vi.fn()
    const failed = vi.fn()
    const attempts = vi.fn()
    const broken: Promise<never> = Promise.reject(new Error('not now'))
    broken.catch(() => {})
    let failure: Promise<never> | undefined = broken
    const getItem: TokenStorage['getItem'] = (key) => {
      attempts()
      return failure ?? inner.getItem(key)
    }
    const unread = unreadRecord({ ...inner, getItem }, name, { clock, isDegraded: () => true, removed, failed })
    return {
      clock,
      removed,
      failed,
      attempts,
      unread,
      repair() {
        failure = undefined
      },
      breakAgain() {
        failure = broken
      },
      async retryAfter(ms: number, when?: 'now') {
        clock.advance(ms)
        unread.retry(when)
        await flush()
      },
      /** Another tab signs in, or refreshes. */
      async write(rev: number, raw?: string, signedInAtMs?: number) {
        clock.advance(1)
        const tokens = createTokens({ accessToken: 'of-another-tab', obtainedAtMs: clock.wallMs() })
        await inner.setItem(name, raw ?? encodeRecord(name, { id: 'a-sign-in', rev, signedInAtMs, tokens }))
      },
      stands: async () => (await inner.getItem(name)) !== undefined,
    }
  }

  it('is removed later, by tries at least five seconds apart', async () => {
    const { attempts, removed, repair, retryAfter, stands, unread, write } = rig()
    await write(1)
    await retryAfter(5_000)
    expect(attempts).not.toHaveBeenCalled()
    unread.remove()
    await retryAfter(4_999)
    expect(attempts).toHaveBeenCalledTimes(1)
    await retryAfter(1)
    expect(attempts).toHaveBeenCalledTimes(2)
    repair()
    await retryAfter(4_999)
    expect({ stands: await stands(), callsCount: removed.mock.calls.length }).toEqual({ stands: true, callsCount: 0 })
    await retryAfter(1)
    expect({ stands: await stands(), callsCount: removed.mock.calls.length }).toEqual({ stands: false, callsCount: 1 })
    for (let times = 0; times < 3; times++) await retryAfter(5_000)
    expect(attempts).toHaveBeenCalledTimes(3)
  })

  it.each([
    ['is removed', 'earlier', false],
    ['stays', 'later', true],
  ] as const)('%s if another tab refreshed a sign-in that is %s than that here', async (_, when, stays) => {
    const config = configWith({ fetch: scriptedFetch(() => json({ access_token: 'refreshed' })).fetch })
    const clock = config.clock as TestClock
    const inner = memoryStorage()
    let isBroken = true
    const getItem: TokenStorage['getItem'] = (key) => {
      if (isBroken) throw new Error('not now')
      return inner.getItem(key)
    }
    const app = { name: sessionName(config, 'default'), key: 'default', signedOut() {} }
    const here = createTabSession(config, { ...app, storage: { ...inner, getItem } })
    const elsewhere = createSession(config, { storage: inner })
    const signInElsewhere = async (): Promise<void> => {
      await elsewhere.signIn({ accessToken: 'first', refreshToken: 'r', obtainedAtMs: clock.wallMs() })
      clock.advance(1)
    }
    await here.session.ready()
    if (when === 'earlier') await signInElsewhere()
    await here.session.signIn({ accessToken: 'here', obtainedAtMs: clock.wallMs() })
    clock.advance(1)
    if (when === 'later') await signInElsewhere()
    expect(await elsewhere.getAccessToken({ forceRefresh: true })).toBe('refreshed')
    isBroken = false
    clock.advance(5_000)
    await here.session.ready()
    await flush()
    expect((await inner.getItem(app.name)) !== undefined).toBe(stays)
    expect(await here.session.getAccessToken()).toBe('here')
    here.close()
  })

  it('is not confused with that of a user who signed in later in another tab', async () => {
    const { attempts, removed, repair, retryAfter, stands, unread, write } = rig()
    unread.remove()
    await flush()
    await write(1)
    repair()
    await retryAfter(5_000)
    expect({ stands: await stands(), callsCount: removed.mock.calls.length }).toEqual({ stands: true, callsCount: 0 })
    await write(2)
    const before = attempts.mock.calls.length
    await retryAfter(5_000)
    expect({ stands: await stands(), callsCount: attempts.mock.calls.length }).toEqual({
      stands: true,
      callsCount: before,
    })
  })

  it('is looked at once when another tab has changed it, before a later user’s refresh makes the two look alike', async () => {
    const { repair, retryAfter, stands, unread, write } = rig()
    unread.remove()
    await flush()
    repair()
    await write(1)
    await retryAfter(1, 'now')
    expect(await stands()).toBe(true)
    await write(2)
    await retryAfter(5_000)
    expect(await stands()).toBe(true)
  })

  it.each([
    ['is removed', 'another tab refreshed it since', -1, false],
    ['stays', 'it does not say when its user signed in, and its tokens are newer', undefined, true],
  ])('%s if %s', async (_, __, afterMs, stays) => {
    const { clock, repair, retryAfter, stands, unread, write } = rig()
    const removedAtMs = clock.wallMs()
    unread.remove()
    await flush()
    await write(2, undefined, afterMs && removedAtMs + afterMs)
    repair()
    await retryAfter(5_000)
    expect(await stands()).toBe(stays)
  })

  it.each([
    ['unreadable', 'damaged', false],
    ['of another client', encodeRecord('of another', record()), true],
    ['of a newer version', '{"v":2}', true],
  ])('is removed or left as at a sign-out if it is %s', async (_, raw, stays) => {
    const { repair, retryAfter, stands, unread, write } = rig()
    await write(1, raw)
    repair()
    unread.remove()
    await retryAfter(0)
    expect(await stands()).toBe(stays)
  })

  it('is reported once if it cannot be removed, and again after a removal has succeeded', async () => {
    const { failed, repair, breakAgain, retryAfter, unread, write } = rig()
    unread.remove()
    await flush()
    expect(failed).toHaveBeenCalledTimes(1)
    await retryAfter(5_000)
    unread.remove()
    await flush()
    expect(failed).toHaveBeenCalledTimes(1)
    await write(1)
    repair()
    await retryAfter(5_000)
    expect(failed).toHaveBeenCalledTimes(1)
    breakAgain()
    unread.remove()
    await flush()
    expect(failed).toHaveBeenCalledTimes(2)
  })

  it('is looked for while no other tab has the lock, and its absence is no change', async () => {
    const order: string[] = []
    const storage: TokenStorage = {
      ...memoryStorage(),
      getItem: () => void order.push('read'),
      async withLock(_, task) {
        order.push('locked')
        return task()
      },
    }
    unreadRecord(storage, name, {
      clock: testClock(),
      isDegraded: () => true,
      removed: () => order.push('removed'),
      failed: () => expect.unreachable(),
    }).remove()
    await flush()
    expect(order).toEqual(['locked', 'read'])
  })

  it('is removed once: a second try that waited for the lock leaves the record of a later sign-in', async () => {
    const { repair, retryAfter, stands, unread, write } = rig()
    repair()
    unread.remove()
    unread.retry('now')
    await write(1)
    await retryAfter(0)
    expect(await stands()).toBe(true)
  })

  it('is removed for a sign-out that comes while the removal for a sign-in reads the storage', async () => {
    const clock = testClock()
    const inner = memoryStorage()
    let answer = (): void => {}
    const getItem = (key: string): Promise<string | null | undefined> =>
      new Promise((resolve) => {
        answer = () => resolve(inner.getItem(key))
      })
    const unread = unreadRecord({ ...inner, getItem }, name, {
      clock,
      isDegraded: () => true,
      removed: () => {},
      failed: () => {},
    })
    unread.remove()
    await flush()
    clock.advance(1)
    const tokens = createTokens({ accessToken: 'of-another-tab', obtainedAtMs: clock.wallMs() })
    await inner.setItem(name, encodeRecord(name, { id: 'a-sign-in', rev: 1, tokens }))
    unread.remove()
    for (let readings = 0; readings < 2; readings++) {
      answer()
      await flush()
    }
    expect(await inner.getItem(name)).toBeUndefined()
  })
})

describe('the count of logins without a click', () => {
  const hanging: TokenStorage = { getItem: never, setItem: never, removeItem: never }

  it('does not wait for ever for a storage that hangs', async () => {
    vi.useFakeTimers()
    vi.stubGlobal('navigator', { userActivation: { isActive: false } })
    const counted = failure(countAutomatic(hanging, { nowMs: 0, page: 1 }))
    const forgotten = failure(noteSuccess(hanging, 0))
    await vi.advanceTimersByTimeAsync(5_000)
    expect((await counted).code).toBe('storage_failed')
    expect((await forgotten).code).toBe('storage_failed')
  })

  it('starts again after a success that lasted, and not after a login that was lost at once', async () => {
    vi.stubGlobal('navigator', { userActivation: { isActive: false } })
    const storage = memoryStorage()
    const loginAt = async (nowMs: number): Promise<void> => {
      await countAutomatic(storage, { nowMs, page: nowMs })
      await noteSuccess(storage, nowMs)
    }
    for (let reloads = 0; reloads < 5; reloads++) await loginAt(reloads * 5_000)
    await loginAt(24_999)
    expect((await failure(loginAt(29_998))).code).toBe('login_failed')
    await loginAt(29_999)
  })

  it('is not kept up by a clock that was set back', async () => {
    vi.stubGlobal('navigator', { userActivation: { isActive: false } })
    const storage = memoryStorage()
    for (const nowMs of [300_000, 300_001, 0]) await countAutomatic(storage, { nowMs, page: nowMs })
  })

  it('counts once what one page starts within five seconds, and a page that goes on and on as several', async () => {
    vi.stubGlobal('navigator', { userActivation: { isActive: false } })
    const storage = memoryStorage()
    const countAt = (nowMs: number, page: number): Promise<void> => countAutomatic(storage, { nowMs, page })
    for (const nowMs of [0, 1, 4_999]) await countAt(nowMs, 1)
    for (const nowMs of [5_000, 5_001]) await countAt(nowMs, 2)
    expect((await failure(countAt(5_002, 3))).code).toBe('login_failed')
    expect((await failure(countAt(10_000, 2))).code).toBe('login_failed')
  })
})

it('docs/browser.md shows the compiled snippet, and says that no storage stops a script in the page', () => {
  const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  const page = read('docs/browser.md')
  expect(page).toContain(`\`\`\`ts\n${read('docs/snippets/browser.ts')}\`\`\``)
  expect(page).toContain('No browser storage stops an attacker who can run script in your page.')
  expect(page).toContain('log in on your backend')
})

describe('requests to other origins', () => {
  it('reports the first 64 of them, each once, because a page may call any number', async () => {
    const origins: string[] = []
    const auth = createBrowserAuth({
      ...options,
      fetch: async () => new Response(),
      onEvent: (event) => event.type === 'sent_without_token' && origins.push(event.origin),
    })
    const called = Array.from({ length: 70 }, (_, at) => `https://${at}.example`)
    for (const origin of [...called, ...called]) await auth.fetch(`${origin}/a`)
    expect(origins).toEqual(called.slice(0, 64))
  })
})
