import { memoryStorage } from 'agent-auth'
import { createBrowserAuth, indexedDbStorage, popupLogin, type SignInOptions, webStorage } from 'agent-auth/browser'
import { AuthProvider } from 'agent-auth/react'
import { describe, expect, it, vi } from 'vitest'
import { failure, plainOptions as options } from '../support/token-flow.ts'

// Options as plain JavaScript passes them, where no type checker names the mistake.

const origin = 'https://app.example.com'
const untyped = (value: unknown): never => value as never
const create = (more: object): unknown => createBrowserAuth(untyped({ ...options, ...more }))
const auth = createBrowserAuth({ ...options, popup: popupLogin() })
const signIn = (given: unknown): Promise<void> => auth.signIn(given as SignInOptions)
const provider = (props: object): unknown => AuthProvider(untyped(props))

describe('options in plain JavaScript', () => {
  it.each<[string, () => unknown, string]>([
    ['createBrowserAuth', () => create({ stroage: {} }), 'stroage'],
    ['createBrowserAuth', () => create({ clientSecret: 'a secret of a page' }), 'clientSecret'],
    ['createBrowserAuth', () => createBrowserAuth(untyped(undefined)), 'an object of options'],
    ['signIn', () => signIn({ retrunTo: '/' }), 'retrunTo'],
    ['signOut', () => auth.signOut(untyped({ atServer: true })), 'atServer'],
    ['AuthProvider', () => provider({ auht: auth }), 'auht'],
    ['popupLogin', () => popupLogin(untyped({ timeout: 5 })), 'timeout'],
    ['indexedDbStorage', () => indexedDbStorage(untyped({ name: 'x' })), 'name'],
  ])('%s names the option that it does not know', async (caller, call, what) => {
    const { code, message } = await failure(async () => call())
    expect(code).toBe('config_invalid')
    expect(message).toContain(caller)
    expect(message).toContain(what)
  })

  it.each<[string, () => unknown]>([
    ['storage', () => create({ storage: 'localStorage' })],
    ['storage', () => create({ storage: indexedDbStorage })],
    ['loginStorage', () => create({ loginStorage: () => sessionStorage })],
    ['loginStorage', () => create({ loginStorage: 'sessionStorage' })],
    ['signal', () => signIn({ signal: new AbortController() })],
    ['signIn', () => signIn('popup')],
    ['timeoutMs', () => popupLogin(untyped({ timeoutMs: '5' }))],
    ['indexedDbStorage', () => indexedDbStorage(untyped('agent-auth'))],
    ['area', () => webStorage(untyped('localStorage'))],
  ])('a wrong value of %s is refused with its name', async (name, call) => {
    expect(await failure(async () => call())).toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(name),
    })
  })

  it.each([
    ['the event of a click handler of a page', new Event('click')],
    ['the event of a click handler of React', { _reactName: 'onClick', preventDefault: () => {} }],
    ['a mode that does not exist', { mode: 'Redirect' }],
  ])('signIn with %s is a login by redirect', async (_, given) => {
    vi.stubGlobal('document', {})
    vi.stubGlobal('location', { href: `${origin}/home`, origin, assign: vi.fn() })
    vi.stubGlobal('sessionStorage', { getItem: () => null, setItem: () => {}, removeItem: () => {} })
    await signIn(given)
    expect(location.assign).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('&state=redirect.'))
    vi.unstubAllGlobals()
  })

  it('signIn in a popup without the option popup is refused', async () => {
    vi.stubGlobal('location', { href: `${origin}/home`, origin })
    const refused = { code: 'config_invalid', message: expect.stringContaining('popupLogin()') }
    expect(await failure(createBrowserAuth(options).signIn({ mode: 'popup' }))).toMatchObject(refused)
    vi.unstubAllGlobals()
  })

  it('a redirect URI of another origin is allowed with a loginStorage, which its pages may share', async () => {
    const shared = createBrowserAuth({ ...options, loginStorage: memoryStorage(), popup: popupLogin() })
    vi.stubGlobal('document', {})
    vi.stubGlobal('location', { href: 'https://www.example.com/', origin: 'https://www.example.com', assign: vi.fn() })
    await shared.signIn()
    expect(location.assign).toHaveBeenCalledOnce()
    expect(await failure(shared.signIn({ mode: 'popup' }))).toMatchObject({ code: 'config_invalid' })
    vi.unstubAllGlobals()
  })
})
