// @vitest-environment happy-dom

import { AgentAuthError } from 'agent-auth'
import { createBackendClient } from 'agent-auth/backend/client'
import { type BrowserAuth, createBrowserAuth } from 'agent-auth/browser'
import { authStore, type PageAuth } from 'agent-auth/svelte'
import { authPlugin, useAuth } from 'agent-auth/vue'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createApp, createSSRApp, h } from 'vue'
import { renderToString } from 'vue/server-renderer'
import { failure } from '../support/token-flow.ts'
import { invalid } from '../support/wrong-calls.ts'

interface Shown {
  text(): string | undefined
  unmount(): void
}

const root = {
  setup() {
    const { state, claims, error } = useAuth()
    return () => h('p', textOf({ state: state.value, claims: claims.value, error: error.value }))
  },
}

const bindings: Record<string, (auth: PageAuth) => Shown> = {
  vue(auth) {
    const element = document.createElement('main')
    const app = createApp(root).use(authPlugin(auth))
    app.mount(element)
    return { text: () => element.textContent ?? undefined, unmount: () => app.unmount() }
  },
  svelte(auth) {
    let text: string | undefined
    const unmount = authStore(auth).subscribe((view) => {
      text = textOf(view)
    })
    return { text: () => text, unmount }
  },
}

interface Seen {
  readonly state: { readonly status: string }
  readonly claims: { readonly subject?: string } | undefined
  readonly error: unknown
}

function textOf({ state, claims, error }: Seen): string {
  return [state.status, claims?.subject, (error as AgentAuthError | undefined)?.code].filter(Boolean).join(' ')
}

function authWith(): BrowserAuth {
  const auth = createBrowserAuth({
    authUrl: 'https://auth.example.com',
    baseUrl: 'https://api.example.com',
    clientId: 'app',
    redirectUri: `${location.origin}/callback`,
  })
  onTestFinished(() => auth.close())
  return auth
}

function signIn(auth: BrowserAuth, subject: string): Promise<void> {
  const parts = ['{"alg":"none"}', JSON.stringify({ sub: subject }), '']
  const accessToken = parts.map((part) => btoa(part).replaceAll('=', '')).join('.')
  return auth.session.signIn({ accessToken, obtainedAtMs: Date.now(), expiresAtMs: Date.now() + 3_600_000 })
}

afterEach(() => void vi.unstubAllGlobals())

describe.each(Object.keys(bindings))('agent-auth/%s', (name) => {
  const show = (auth: PageAuth): Shown => bindings[name]?.(auth) ?? { text: () => undefined, unmount() {} }

  it('shows each user with the claims, and after the unmount nothing more', async () => {
    const auth = authWith()
    const shown = show(auth)
    expect(shown.text()).toBe('loading')
    await expect.poll(shown.text).toBe('signed-out')
    for (const subject of ['ada', 'ben']) {
      await signIn(auth, subject)
      await expect.poll(shown.text).toBe(`signed-in ${subject}`)
    }
    await auth.signOut()
    await expect.poll(shown.text).toBe('signed-out')
    shown.unmount()
    const last = shown.text()
    await signIn(auth, 'ada')
    expect(shown.text()).toBe(last)
  })

  it('says loading until ready() has ended, then why the login failed, until a user signs in', async () => {
    const auth = authWith()
    let fail: ((error: unknown) => void) | undefined
    const login = new Promise<never>((_, reject) => {
      fail = reject
    })
    const shown = show({ ...auth, session: auth.session, ready: () => login })
    await auth.session.ready()
    expect([auth.session.state.status, shown.text()]).toEqual(['signed-out', 'loading'])
    fail?.(new AgentAuthError('login_denied', 'declined'))
    await expect.poll(shown.text).toBe('signed-out login_denied')
    await signIn(auth, 'ada')
    await expect.poll(shown.text).toBe('signed-in ada')
    await auth.signOut()
    await expect.poll(shown.text).toBe('signed-out')
    shown.unmount()
  })

  it('shows why a session could not be read until it was', async () => {
    let answer = (): Response => new Response('', { status: 502 })
    vi.stubGlobal('fetch', async () => answer())
    const client = createBackendClient()
    onTestFinished(client.close)
    const shown = show(client)
    await expect.poll(shown.text).toBe('loading temporarily_unavailable')
    answer = () => Response.json({ status: 'signed-out' })
    await client.ready()
    expect(shown.text()).toBe('signed-out')
    shown.unmount()
  })
})

it('Vue and Svelte say loading on a server, whoever is signed in, and call nothing', async () => {
  const auth = authWith()
  await signIn(auth, 'ada')
  vi.stubGlobal('document', undefined)
  const ready = vi.fn(auth.ready)
  const server = { ...auth, session: auth.session, ready }
  expect(await renderToString(createSSRApp(root).use(authPlugin(server)))).toBe('<p>loading</p>')
  expect(bindings.svelte?.(server as BrowserAuth).text()).toBe('loading')
  expect(ready).not.toHaveBeenCalled()
})

it.each<[string, () => unknown, string]>([
  [
    'authPlugin',
    () => authPlugin({} as never),
    'authPlugin needs the result of createBrowserAuth or createBackendClient',
  ],
  ['authStore', () => authStore({} as never), 'authStore needs the result of createBrowserAuth or createBackendClient'],
  ['useAuth', () => createApp(root).runWithContext(useAuth), 'useAuth needs app.use(authPlugin(auth)) and setup'],
])('%s without an auth says what it needs', async (_, call, text) => {
  expect(await failure(call)).toMatchObject(invalid(text))
})
