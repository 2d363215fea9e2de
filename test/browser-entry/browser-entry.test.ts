import { readFileSync } from 'node:fs'
import { AgentAuthError, createSession, memoryStorage, type TokenStorage } from 'agent-auth'
import { createBrowserAuth, indexedDbStorage, popupLogin, webStorage } from 'agent-auth/browser'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { callbackMode, markedState } from '../../src/browser/callback-url.ts'
import { loginFinisher } from '../../src/browser/finish-login.ts'
import { countAutomatic, noteSuccess } from '../../src/browser/login-loop.ts'
import { fallbackStorage } from '../../src/browser/storage/memory-fallback.ts'
import { createTabSession } from '../../src/browser/tabs/tab-session.ts'
import { encodeRecord, type SessionRecord } from '../../src/session/record.ts'
import { createTokens } from '../../src/tokens.ts'
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
    [`/callback/?code=x&state=${state}`, 'redirect'],
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

describe('the storage of a page', () => {
  const name = 'agent-auth:name'
  const [first, second] = ['a', 'b'].map((id) => encodeRecord(name, { ...record(), id }))
  const refreshed = encodeRecord(name, { ...record(), rev: 2 })

  /** A storage whose operations fail while `failing` names them, and one of a page over it. */
  function pageOver(inner: TokenStorage = memoryStorage()) {
    const failing = new Set<keyof TokenStorage>()
    const told: string[] = []
    const run =
      <A extends readonly unknown[], R>(operation: keyof TokenStorage, task: (...given: A) => R) =>
      async (...given: A): Promise<Awaited<R>> => {
        if (failing.has(operation)) throw new Error('for now')
        return await task(...given)
      }
    const storage: TokenStorage = {
      getItem: run('getItem', inner.getItem),
      setItem: run('setItem', inner.setItem),
      removeItem: run('removeItem', inner.removeItem),
    }
    const page = fallbackStorage(storage, name, {
      isOutdated: false,
      changed: () => {},
      degraded: (reason) => told.push(reason),
    })
    return { inner, failing, told, page }
  }

  it('is read again after a failure, and only then replaced by memory, once for all that read together', async () => {
    vi.useFakeTimers()
    const { inner, failing, told, page } = pageOver()
    await inner.setItem(name, first ?? '')
    failing.add('getItem')
    const once = page.storage.getItem(name)
    failing.clear()
    await vi.advanceTimersByTimeAsync(250)
    expect(await once).toBe(first)
    const other = pageOver()
    other.failing.add('getItem')
    const twice = Promise.all([other.page.storage.getItem(name), other.page.storage.getItem(name)])
    await vi.advanceTimersByTimeAsync(250)
    expect(await twice).toEqual([null, null])
    expect([told, other.told]).toEqual([[], ['read_failed']])
  })

  it('is used again at resume, unless a user has signed in or out in memory since', async () => {
    vi.useFakeTimers()
    for (const since of ['nothing', 'sign-in', 'sign-out']) {
      const { inner, failing, page } = pageOver()
      await inner.setItem(name, first ?? '')
      failing.add('getItem').add('removeItem')
      const read = page.storage.getItem(name)
      await vi.advanceTimersByTimeAsync(250)
      await read
      if (since === 'sign-in') await page.storage.setItem(name, second ?? '')
      if (since === 'sign-out') page.removeLeft()
      failing.clear()
      await page.tryAgain()
      expect(page.isDegraded()).toBe(since !== 'nothing')
      expect(await page.storage.getItem(name)).toBe({ nothing: first, 'sign-in': second, 'sign-out': null }[since])
    }
  })

  it('is replaced by memory if the first read does not end', async () => {
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

  it.each(['fails', 'is acknowledged and not there'])(
    'is replaced by memory if the first sign-in %s, and a reload shows no earlier user',
    async (how) => {
      const inner = memoryStorage()
      const { failing, told, page } = pageOver({ ...inner, setItem: () => {} })
      await inner.setItem(name, first ?? '')
      if (how === 'fails') failing.add('setItem')
      await page.storage.getItem(name)
      await page.storage.setItem(name, second ?? '')
      expect(await page.storage.getItem(name)).toBe(second)
      expect(told).toEqual(['write_failed'])
      expect(await inner.getItem(name)).toBeNull()
    },
  )

  it('stays in use if the first refresh cannot be written, because the session keeps it for later', async () => {
    const { inner, failing, told, page } = pageOver()
    await inner.setItem(name, first ?? '')
    failing.add('setItem')
    await page.storage.getItem(name)
    await expect(page.storage.setItem(name, refreshed)).rejects.toThrow('for now')
    failing.clear()
    await page.storage.setItem(name, refreshed)
    expect(await inner.getItem(name)).toBe(refreshed)
    expect(told).toEqual([])
  })

  it('stays in use if it was read and written before, or rejects with an error of this library', async () => {
    const { failing, told, page } = pageOver()
    await page.storage.getItem(name)
    await page.storage.setItem(name, first ?? '')
    failing.add('getItem').add('setItem')
    await expect(page.storage.getItem(name)).rejects.toThrow('for now')
    await expect(page.storage.setItem(name, second ?? '')).rejects.toThrow('for now')
    const sealed = new AgentAuthError('storage_failed', 'No key opens it.')
    const refuse = (): Promise<never> => Promise.reject(sealed)
    const other = pageOver({ getItem: refuse, setItem: refuse, removeItem: refuse })
    await expect(other.page.storage.getItem(name)).rejects.toBe(sealed)
    await expect(other.page.storage.setItem(name, first ?? '')).rejects.toBe(sealed)
    expect([told, other.told]).toEqual([[], []])
  })
})

describe('the count of logins without a click', () => {
  const hanging: TokenStorage = { getItem: never, setItem: never, removeItem: never }

  it('does not wait for ever for a storage that hangs', async () => {
    vi.useFakeTimers()
    vi.stubGlobal('navigator', { userActivation: { isActive: false } })
    const counted = failure(countAutomatic(hanging, 0))
    const forgotten = failure(noteSuccess(hanging, 0))
    await vi.advanceTimersByTimeAsync(5_000)
    expect((await counted).code).toBe('storage_failed')
    expect((await forgotten).code).toBe('storage_failed')
  })

  it('starts again after a success that lasted, and not after a login that was lost at once', async () => {
    vi.stubGlobal('navigator', { userActivation: { isActive: false } })
    const storage = memoryStorage()
    const loginAt = async (nowMs: number): Promise<void> => {
      await countAutomatic(storage, nowMs)
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
    for (const nowMs of [300_000, 300_001, 0]) await countAutomatic(storage, nowMs)
  })
})

it('docs/browser.md shows the compiled snippet, and says that no storage stops a script in the page', () => {
  const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  const page = read('docs/browser.md')
  expect(page).toContain(`\`\`\`ts\n${read('docs/snippets/browser.ts')}\`\`\``)
  expect(page).toContain('No browser storage stops an attacker who can run script in your page.')
  expect(page).toContain('log in on your backend')
})

it('a request to another origin is reported once for each origin', async () => {
  const origins: string[] = []
  const auth = createBrowserAuth({
    ...options,
    fetch: async () => new Response(),
    onEvent: (event) => event.type === 'sent_without_token' && origins.push(event.origin),
  })
  for (const path of ['a', 'b']) await auth.fetch(`https://other.example/${path}`)
  expect(origins).toEqual(['https://other.example'])
})
