import { once } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import type { AddressInfo, Server } from 'node:net'

/** Lets a server listen on a port that the system chooses. Returns the port. */
export async function listen(server: Server | HttpServer, host = '127.0.0.1'): Promise<number> {
  server.listen(0, host)
  // Rejects with an error of the server.
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
