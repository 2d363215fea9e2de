import {
  createAuthConfig,
  createBearerFetch,
  createSession,
  exchangeCode,
  pendingLogins,
  readCallback,
  startLogin,
} from 'agent-auth'

const config = createAuthConfig({
  authUrl: 'https://auth.example.com',
  baseUrl: 'https://api.example.com',
  clientId: 'my-app',
  redirectUri: `${location.origin}/callback`,
})
const logins = pendingLogins(sessionStorage)
const session = createSession(config)
export const api: typeof fetch = createBearerFetch(session, { baseUrl: config.baseUrl })

export async function signIn(): Promise<void> {
  const { url, pending } = await startLogin(config, { returnTo: location.href })
  await logins.save(pending)
  location.assign(url.href) // url is a URL object, href its text
}

// On the page of the redirect URI. `already_handled` means: it was reloaded, so show `/`.
export async function finishSignIn(): Promise<void> {
  const grant = readCallback(await logins.take(location.href), location.href)
  history.replaceState(null, '', grant.returnTo ?? '/') // the code leaves the address bar before the network is awaited
  await session.signIn(await exchangeCode(config, grant))
}
