import {
  createAuthConfig,
  createBearerFetch,
  createSession,
  encryptedStorage,
  exchangeCode,
  memoryStorage,
  pendingLogins,
  readCallback,
  startLogin,
} from 'agent-auth'
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
  return { config, fetch, seen }
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
}
