import {
  createAuthConfig,
  createBearerFetch,
  createSession,
  encryptedStorage,
  exchangeCode,
  memoryStorage,
  type PendingLogins,
  pendingLogins,
  readCallback,
  type Session,
  startLogin,
} from 'agent-auth'

const config = createAuthConfig({
  authUrl: 'https://auth.example.com',
  baseUrl: 'https://api.example.com',
  clientId: 'my-backend',
  clientSecret: process.env.AGENT_CLIENT_SECRET,
  redirectUri: 'https://app.example.com/callback',
})
const keys = [{ id: '2026-11', key: process.env.STORAGE_KEY ?? '' }] // 32 random bytes as base64url
const storage = encryptedStorage(memoryStorage(), { keys }) // or over a storage of your own: three functions
const browsers = new Map<string, { session: Session; logins: PendingLogins }>()

export async function logIn(browserId: string): Promise<URL> {
  const { url, pending } = await startLogin(config)
  await of(browserId).logins.save(pending)
  return url // redirect the browser there
}

export async function finishLogin(browserId: string, callbackUrl: string): Promise<void> {
  const pending = await of(browserId).logins.take(callbackUrl) // once: opened again it is `already_handled`
  await of(browserId).session.signIn(await exchangeCode(config, readCallback(pending, callbackUrl)))
}

export const apiFor = (browserId: string): typeof fetch =>
  createBearerFetch(of(browserId).session, { baseUrl: config.baseUrl })

function of(browserId: string): { session: Session; logins: PendingLogins } {
  const session = createSession(config, { storage, key: browserId })
  const known = browsers.get(browserId) ?? { session, logins: pendingLogins(memoryStorage()) }
  browsers.set(browserId, known)
  return known
}
