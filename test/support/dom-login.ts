import {
  AgentAuthError,
  createAuthConfig,
  createBearerFetch,
  createSession,
  encryptedStorage,
  exchangeCode,
  memoryStorage,
  pendingLogins,
  readCallback,
  refreshTokens,
  startLogin,
} from 'agent-auth'
import { createBackend } from 'agent-auth/backend'
import { createBrowserAuth, webStorage } from 'agent-auth/browser'
import { expect, it } from 'vitest'
import { tokenService } from './token-service.ts'

const redirectUri = 'https://app.example.com/callback'

function rig() {
  const service = tokenService()
  const seen: { url: string; body: string; authorization: string | null }[] = []
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const { method = 'GET', body, headers } = init ?? {}
    seen.push({ url: String(input), body: String(body), authorization: new Headers(headers).get('authorization') })
    if (!String(input).includes('/auth/v1/token')) return Response.json({ method })
    if (!String(input).includes('authorization_code')) return service.fetch(input, init)
    const { accessToken, refreshToken } = service.issue()
    return Response.json({ access_token: accessToken, refresh_token: refreshToken, expires_in: 3_600 })
  }
  const config = createAuthConfig({
    authUrl: 'https://auth.example.com',
    baseUrl: 'https://api.example.com',
    clientId: 'app',
    redirectUri,
    fetch,
  })
  return { config, fetch, seen, service }
}

/** The whole login, in an environment whose typed arrays are not the ones of the platform's Web Crypto. */
export function loginInDom(): void {
  it('has a document, as a page has', () => {
    expect(document.createElement('a')).toBeInstanceOf(HTMLElement)
  })

  it('logs in, calls the API and refreshes with a storage that encrypts', async () => {
    const { config, fetch, seen } = rig()
    const { url, pending } = await startLogin(config, { returnTo: '/agents' })
    expect(url.searchParams.get('code_challenge')).toMatch(/^[\w-]{43}$/)
    const logins = pendingLogins(memoryStorage())
    await logins.save(pending)
    const callback = `${redirectUri}?code=a-code-of-this-test&state=${pending.state}`
    const grant = readCallback(await logins.take(callback), callback)
    const tokens = await exchangeCode(config, grant)
    expect(new URLSearchParams(seen[0]?.body).get('code_verifier')).toBe(pending.codeVerifier)

    const records = memoryStorage()
    const storage = encryptedStorage(records, {
      keys: [{ id: 'one', key: crypto.getRandomValues(new Uint8Array(32)) }],
    })
    const session = createSession(config, { storage })
    await session.signIn(tokens)
    const again = createSession(config, { storage })
    expect((await again.ready()).status).toBe('signed-in')
    const api = createBearerFetch(again, { baseUrl: config.baseUrl, fetch })
    expect((await api('api/agents', { method: 'POST', body: '{}' })).status).toBe(200)
    expect(seen.at(-1)?.authorization).toBe(`Bearer ${tokens.accessToken}`)
    expect(await again.getAccessToken({ forceRefresh: true })).not.toBe(tokens.accessToken)
    await again.signOut()
  })

  it('the challenge is S256 of the verifier', async () => {
    const { config } = rig()
    const { url, pending } = await startLogin(config)
    const { createHash } = await import('node:crypto')
    const expected = createHash('sha256').update(pending.codeVerifier).digest('base64url')
    expect(url.searchParams.get('code_challenge')).toBe(expected)
  })

  it('opens a record that was encrypted with a key given as text', async () => {
    const records = memoryStorage()
    const storage = encryptedStorage(records, { keys: [{ id: 'one', key: btoa('k'.repeat(32)) }] })
    await storage.setItem('name', 'Grüße 🔑')
    expect(await storage.getItem('name')).toBe('Grüße 🔑')
    expect(await records.getItem('name')).not.toContain('Grüße')
  })

  it('refreshes by the function alone', async () => {
    const { config, service } = rig()
    const before = service.issue()
    expect((await refreshTokens(config, before)).accessToken).not.toBe(before.accessToken)
  })

  it('errors are ours', async () => {
    const { config } = rig()
    const { pending } = await startLogin(config)
    expect(() => readCallback(pending, `${redirectUri}?code=x&state=another`)).toThrow(AgentAuthError)
  })

  it('createBrowserAuth starts signed out and sends the bearer header of nobody', async () => {
    const { fetch } = rig()
    const auth = createBrowserAuth({
      authUrl: 'https://auth.example.com',
      baseUrl: 'https://api.example.com',
      clientId: 'app',
      redirectUri: `${location.origin}/callback`,
      storage: webStorage(() => sessionStorage),
      fetch,
    })
    expect((await auth.ready()).status).toBe('signed-out')
    await expect(auth.fetch('/api/agents')).rejects.toMatchObject({ code: 'login_required' })
    auth.close()
  })

  it('createBackend, whose cookies are encrypted, starts a login', async () => {
    const { fetch } = rig()
    const backend = createBackend({
      authUrl: 'https://auth.example.com',
      baseUrl: 'https://api.example.com',
      clientId: 'app',
      redirectUri: 'https://app.example.com/auth/callback',
      sessions: memoryStorage(),
      secrets: ['a-secret-of-this-test-that-is-long-enough'],
      fetch,
    })
    const headers = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    const response = await backend.handle(new Request('https://app.example.com/auth/login', { headers }))
    expect(response?.status).toBe(302)
  })
}
