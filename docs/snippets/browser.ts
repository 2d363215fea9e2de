import { type BrowserAuth, createBrowserAuth, indexedDbStorage } from 'agent-auth/browser'

export const auth: BrowserAuth = createBrowserAuth({
  authUrl: 'https://auth.example.com',
  baseUrl: 'https://api.example.com',
  clientId: 'my-app',
  redirectUri: `${location.origin}/callback`,
  storage: indexedDbStorage(), // leave it out to keep the login in memory only
})

export async function start(): Promise<void> {
  const { status } = await auth.ready() // finishes a login when this page is its callback
  if (status !== 'signed-in') await auth.signIn() // comes back to this page
}
