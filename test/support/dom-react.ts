import { createBackendClient } from 'agent-auth/backend/client'
import { type BrowserAuth, type BrowserAuthOptions, createBrowserAuth, webStorage } from 'agent-auth/browser'
import { AuthProvider, type PageAuth, RequireSession, type SessionFallbackProps, useAuth } from 'agent-auth/react'
import { act, createElement, type ReactElement, StrictMode } from 'react'
import { createRoot, type Root } from 'react-dom/client'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { tokenService } from './token-service.ts'

/** An `auth` whose service is in this process. */
function authWith(options: Partial<BrowserAuthOptions> = {}): BrowserAuth {
  const service = tokenService()
  const auth = createBrowserAuth({
    authUrl: 'https://auth.example.com',
    baseUrl: 'https://api.example.com',
    clientId: 'app',
    redirectUri: `${location.origin}/callback`,
    async fetch(input) {
      if (!String(input).includes('/auth/v1/token')) return Response.json({ count: 12 })
      const { accessToken, refreshToken } = service.issue()
      return Response.json({ access_token: accessToken, refresh_token: refreshToken, expires_in: 3_600 })
    },
    ...options,
  })
  onTestFinished(() => auth.close())
  return auth
}

const tokens = (accessToken: string) => ({ accessToken, obtainedAtMs: Date.now(), expiresAtMs: Date.now() + 3_600_000 })

function Fallback({ status, error }: SessionFallbackProps): ReactElement {
  return createElement('p', null, `${status} ${(error as { code?: string } | undefined)?.code ?? ''}`.trim())
}

function Protected(): ReactElement {
  const { signOut, claims } = useAuth()
  const text = ['protected', claims?.subject].filter(Boolean).join(' for ')
  return createElement('button', { type: 'button', onClick: () => void signOut() }, text)
}

/** Renders a protected page in StrictMode; returns the element that shows it. */
async function render(auth: PageAuth): Promise<HTMLElement> {
  const element = document.body.appendChild(document.createElement('main'))
  const root = createRoot(element)
  await renderIn(root, auth)
  onTestFinished(async () => {
    await act(async () => root.unmount())
    element.remove()
  })
  return element
}

async function renderIn(root: Root, auth: PageAuth): Promise<void> {
  const page = createElement(RequireSession, { fallback: Fallback }, createElement(Protected))
  await act(async () => root.render(createElement(StrictMode, null, createElement(AuthProvider, { auth }, page))))
}

const shows = (element: HTMLElement, text: string): Promise<void> =>
  expect
    .poll(async () => {
      await act(async () => {})
      return element.textContent
    })
    .toBe(text)

/** The browser and React entries, in an environment for unit tests that has a document and no navigation. */
export function reactInDom(): void {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true })
  // These environments report a navigation instead of leaving the page.
  vi.spyOn(console, 'error').mockImplementation(() => {})
  afterEach(() => {
    sessionStorage.clear()
    localStorage.clear()
    history.replaceState(null, '', '/')
  })

  it('shows a protected page to a signed-in user, and the fallback after the sign-out', async () => {
    const auth = authWith()
    await auth.session.signIn(tokens('of-ada'))
    const element = await render(auth)
    await shows(element, 'protected')
    await act(async () => element.querySelector('button')?.click())
    await shows(element, 'signed-out')
  })

  it('waits for ready() of another auth before a sign-in starts, also if the first one was ready', async () => {
    const first = authWith()
    await first.session.signIn(tokens('of-ada'))
    const root = createRoot(document.createElement('main'))
    onTestFinished(() => act(async () => root.unmount()))
    await renderIn(root, first)
    await act(() => first.ready())
    const second = authWith({ key: 'second' })
    await second.session.ready()
    expect(second.session.state.status).toBe('signed-out')
    const pending = new Promise<never>(() => {})
    const signIn = vi.fn(() => pending)
    await renderIn(root, { ...second, ready: () => pending, signIn })
    expect(signIn).not.toHaveBeenCalled()
  })

  it('takes the client of a backend, whose state and sign-out the components see', async () => {
    const state = {
      status: 'signed-in',
      sessionRef: 'first',
      endsAtMs: Date.now() + 3_600_000,
      claims: { subject: 'ada' },
    }
    vi.stubGlobal('fetch', async (url: string) =>
      Response.json(url === `${location.origin}/auth/session` ? state : { status: 'signed-out' }),
    )
    onTestFinished(() => void vi.unstubAllGlobals())
    const client = createBackendClient()
    onTestFinished(() => client.close())
    const element = await render(client)
    await shows(element, 'protected for ada')
    await act(async () => element.querySelector('button')?.click())
    await shows(element, 'signed-out')
  })

  it('starts one login for a signed-out user, and finishes it at the callback', async () => {
    history.replaceState(null, '', '/agents?page=2')
    await shows(await render(authWith()), 'loading')
    await expect.poll(() => pendingStates()).toHaveLength(1)
    history.replaceState(null, '', `/callback?code=a-code-of-this-test&state=${pendingStates()[0]}`)
    const auth = authWith()
    await shows(await render(auth), 'protected')
    expect(location.pathname + location.search).toBe('/agents?page=2')
    expect(await (await auth.fetch('/api/agents')).json()).toEqual({ count: 12 })
  })

  it('keeps two instances over localStorage in step', async () => {
    const storage = webStorage(() => localStorage)
    const [here, there] = [authWith({ storage }), authWith({ storage })]
    await here.session.signIn(tokens('of-ada'))
    await expect.poll(() => there.session.state.status).toBe('signed-in')
    await there.signOut()
    await expect.poll(() => here.session.state.status).toBe('signed-out')
  })
}

function pendingStates(): string[] {
  const index = JSON.parse(sessionStorage.getItem('agent-auth:login') ?? '[]') as [string, number, string][]
  return index.map(([state]) => state)
}
