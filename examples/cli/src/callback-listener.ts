import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Listens at the redirect URI on a free loopback port. Its page shows nothing of the request. */
export interface CallbackListener {
  readonly redirectUri: string
  close(): Promise<void>
}

export async function listenForCallback(): Promise<CallbackListener> {
  const server: Server = createServer((_request, response) => {
    response.writeHead(200, {
      'content-type': 'text/plain',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    })
    response.end('You are signed in. You can close this page.')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    redirectUri: `http://127.0.0.1:${port}/callback`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
