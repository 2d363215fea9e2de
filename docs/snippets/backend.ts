import {
  createAuthConfig,
  createBearerFetch,
  createSession,
  encryptedStorage,
  exchangeCode,
  memoryStorage,
  type PendingLogin,
  readCallback,
  startLogin,
} from 'agent-auth'

const config = createAuthConfig({
  authUrl: 'https://auth.example.com',
  baseUrl: 'https://api.example.com',
  clientId: 'my-backend',
  clientSecret: process.env.CLIENT_SECRET,
  redirectUri: 'https://app.example.com/callback',
})
const keys = [{ id: '2026-11', key: process.env.STORAGE_KEY ?? '' }] // 32 bytes, base64url
const storage = encryptedStorage(memoryStorage(), { keys }) // or any storage of your own: three functions

export const logIn = (): ReturnType<typeof startLogin> => startLogin(config) // keep `pending` in this person's own session

export async function finishLogin(pending: PendingLogin, callbackUrl: string, personId: string): Promise<void> {
  const tokens = await exchangeCode(config, readCallback(pending, callbackUrl))
  await createSession(config, { storage, key: personId }).signIn(tokens)
}

export const apiFor = (personId: string): typeof fetch =>
  createBearerFetch(createSession(config, { storage, key: personId }), { baseUrl: config.baseUrl })
