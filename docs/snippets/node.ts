import { homedir } from 'node:os'
import { join } from 'node:path'
import {
  createAuthConfig,
  createSession,
  encryptedStorage,
  refreshTokens,
  type Session,
  type TokenStorage,
} from 'agent-auth'
import { fileStorage, type KeychainStorage, keychainStorage, signInWithLoopback } from 'agent-auth/node'

const config = createAuthConfig({
  authUrl: process.env.AGENT_AUTH_URL ?? '',
  baseUrl: process.env.AGENT_BASE_URL ?? '',
  clientId: process.env.AGENT_PUBLIC_CLIENT_ID ?? '',
  redirectUri: 'http://127.0.0.1/callback',
})
const session = createSession(config, {
  storage: fileStorage(join(homedir(), '.config', 'my-tool', 'sessions.json')),
})

/** Returns the session, and signs the user in first if necessary. `openBrowser` is `open` of the package of that name. */
export async function signedIn(openBrowser: (url: string) => unknown): Promise<Session> {
  const { status } = await session.ready()
  if (status === 'signed-in') return session
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  await session.signIn(await signInWithLoopback(config, { openBrowser, signal: stop.signal }))
  return session
}

/** Signs the user out in all terminals. */
export async function signedOut(): Promise<void> {
  await session.signOut()
}

/** Starts the session with a refresh token from a secret manager or another tool. */
export async function startFromText(refreshToken: string): Promise<Session> {
  await session.signIn(await refreshTokens(config, { refreshToken }))
  return session
}

/** A storage that encrypts with a key in the keychain of the user, to pass to `createSession` in place of `fileStorage`. */
export const protectedStorage: KeychainStorage = keychainStorage(
  join(homedir(), '.config', 'my-tool', 'protected.json'),
  { keyring: () => import('@napi-rs/keyring'), name: 'my-tool' },
)

/** The same for a server without a keychain. `key` is what `openssl rand -base64 32` prints. */
export function serverStorage(key: string = process.env.MY_TOOL_KEY ?? ''): TokenStorage {
  const file = fileStorage(join(homedir(), '.config', 'my-tool', 'encrypted.json'))
  return encryptedStorage(file, { keys: [{ id: '2026-11', key }] })
}
