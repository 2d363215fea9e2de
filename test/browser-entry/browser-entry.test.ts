import { createSession, memoryStorage, type TokenStorage } from 'agent-auth'
import { createBrowserAuth, indexedDbStorage, popupLogin, webStorage } from 'agent-auth/browser'
import { createStorage } from 'unstorage'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { callbackMode, markedState } from '../../src/browser/callback-url.ts'
import { loginFinisher } from '../../src/browser/finish-login.ts'
import { countAutomatic, noteSuccess } from '../../src/browser/login-loop.ts'
import type { PopupApp } from '../../src/browser/popup.ts'
import { redeemLogin } from '../../src/browser/redeem-login.ts'
import { fallbackStorage } from '../../src/browser/storage/memory-fallback.ts'
import { encodeRecord, type SessionRecord } from '../../src/session/record.ts'
import { createTokens } from '../../src/tokens.ts'
import { configWith, failure, grantFor, json, plainOptions as options, scriptedFetch } from '../support/token-flow.ts'
import { flush } from '../support/virtual-time.ts'

// What needs no page; everything else is in test/browser, in a real one.

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

const record = (): SessionRecord => ({ id: 'a', rev: 1, tokens: createTokens({ accessToken: 'a', obtainedAtMs: 0 }) })

const never = (): Promise<never> => new Promise(() => {})

const state = markedState('redirect')

describe('callback addresses', () => {
  it.each([
    [`/callback?code=x&state=${state}`, 'redirect'],
    [`/callback?tab=1&state=${state}&code=x&iss=y#/route?a=1`, 'redirect'],
    [`/callback?code=x&state=${state}#_=_`, 'redirect'],
    [`/callback?error=access_denied&state=${state}`, 'redirect'],
    [`/callback?code=x&state=${markedState('popup')}`, 'popup'],
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
    const parts = { config, session, loginStorage: memoryStorage() }
    const login = new AbortController()
    const { redirectUri } = config
    const { guard, discard } = loginFinisher({ redirectUri, name: 'app', session, navigate() {}, async signIn() {} })
    const redeem: PopupApp['redeem'] = (grant, opened) => guard(opened, redeemLogin(parts, grant, opened.signal))
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

  it.each(['abort', 'discard'] as const)('ends at an %s', async (how) => {
    const { calls, session, login, discard, grant, redeem } = await rig(never)
    const redeemed = failure(redeem(grant, login))
    await expect.poll(() => calls).toHaveLength(1)
    if (how === 'abort') login.abort()
    else discard()
    expect((await redeemed).code).toBe('aborted')
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

  it('stays in use if the first refresh cannot be written, because the session keeps it for later', async () => {
    const name = 'agent-auth:name'
    const [first, refreshed] = [record(), { ...record(), rev: 2 }].map((each) => encodeRecord(name, each)) as [
      string,
      string,
    ]
    const inner = memoryStorage()
    await inner.setItem(name, first)
    const setItem = vi.fn(inner.setItem).mockRejectedValueOnce(new Error('for now'))
    const degraded = vi.fn()
    const page = fallbackStorage({ ...inner, setItem }, name, { isOutdated: false, changed: () => {}, degraded })
    await page.storage.getItem(name)
    await expect(page.storage.setItem(name, refreshed)).rejects.toThrow('for now')
    await page.storage.setItem(name, refreshed)
    expect(await inner.getItem(name)).toBe(refreshed)
    expect(degraded).not.toHaveBeenCalled()
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

  it.each<[string, () => TokenStorage]>([
    ['memory', memoryStorage],
    ['unstorage, which parses texts', createStorage],
  ])('starts again after a success that lasted, and not after one that was lost, in %s', async (_, open) => {
    vi.stubGlobal('navigator', { userActivation: { isActive: false } })
    const storage = open()
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
