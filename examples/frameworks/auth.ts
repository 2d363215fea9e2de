import { type BrowserAuth, createBrowserAuth, indexedDbStorage } from 'agent-auth/browser'

export const baseUrl: string = import.meta.env.VITE_AGENT_BASE_URL ?? ''

export const auth: BrowserAuth = createBrowserAuth({
  authUrl: import.meta.env.VITE_AGENT_AUTH_URL ?? '',
  baseUrl,
  clientId: import.meta.env.VITE_AGENT_PUBLIC_CLIENT_ID ?? '',
  redirectUri: `${location.origin}/callback`,
  storage: indexedDbStorage(),
})

/** For guards of routes: returns whether a user is signed in. Otherwise starts a login that comes back to `path`. */
export async function requireSession(path: string): Promise<boolean> {
  const { status } = await auth.ready()
  if (status !== 'signed-in') await auth.signIn({ returnTo: path })
  return status === 'signed-in'
}
