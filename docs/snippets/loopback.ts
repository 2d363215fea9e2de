import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type AuthConfigOptions,
  createAuthConfig,
  createSession,
  exchangeCode,
  readCallback,
  type Session,
  startLogin,
} from 'agent-auth'

/** Signs a person in from a command-line tool. `show` prints the address or opens a browser. */
export async function signInWithLoopback(
  options: Omit<AuthConfigOptions, 'redirectUri'>,
  show: (address: string) => void,
): Promise<Session> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  try {
    const { port } = server.address() as AddressInfo
    const config = createAuthConfig({ ...options, redirectUri: `http://127.0.0.1:${port}/callback` })
    const { url, pending } = await startLogin(config)
    const callback = callbackOf(server, pending.state)
    show(url.href) // url is a URL object, href its text
    const grant = readCallback(pending, await callback)
    const session = createSession(config)
    await session.signIn(await exchangeCode(config, grant))
    return session
  } finally {
    server.close()
  }
}

/** Resolves to path and query of the callback with this state. Other requests get 404 and end nothing. */
function callbackOf(server: Server, state: string): Promise<string> {
  return new Promise((resolve) => {
    server.on('request', ({ url = '' }, response) => {
      const isCallback = url.startsWith('/callback?') && url.includes(state)
      const headers = { 'content-type': 'text/plain', 'cache-control': 'no-store', connection: 'close' }
      response.writeHead(isCallback ? 200 : 404, headers)
      response.end(isCallback ? 'You can close this page.' : 'Not found')
      if (isCallback) resolve(url)
    })
  })
}
