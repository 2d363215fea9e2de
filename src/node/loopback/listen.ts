import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { AgentAuthError } from '../../errors.ts'
import { attempt } from '../../internal/values.ts'

/** A server on a loopback address of this machine. */
export interface Listener {
  /** The address as URLs have it, such as `http://127.0.0.1:49152`. */
  readonly origin: string
  /** Responds to nothing until it gets a listener for `request`. */
  readonly server: Server
  /** Ends every connection and frees the port. */
  close(): Promise<void>
}

/**
 * Listens on the first loopback address that the machine has, and there on the first free port. Port 0 is one that the system
 * chooses. Rejects with `login_failed` if every port is busy. RFC 8252 section 8.3.
 */
export async function listenOnLoopback(hosts: readonly string[], ports: readonly number[]): Promise<Listener> {
  // Loaded by a login only, because it makes the start of a command longer.
  const { createServer } = await import('node:http')
  for (const host of hosts) {
    let isAbsent = true
    for (const port of ports) {
      const server = createServer()
      try {
        await once(server.listen({ host, port, exclusive: true }), 'listening')
        return listenerOf(server, host)
      } catch (error) {
        // The machine does not have the address, as one without IPv4.
        isAbsent &&= /^(EADDRNOTAVAIL|EAFNOSUPPORT)$/.test((error as NodeJS.ErrnoException).code ?? '')
      }
    }
    if (!isAbsent) break
  }
  throw new AgentAuthError(
    'login_failed',
    'No port for the callback is free. Close the program that uses it, or add a registered port to the option ports.',
    { retryable: true },
  )
}

/** Returns whether a login can listen on these. */
export function arePorts(value: unknown): value is readonly number[] {
  const isPort = (port: unknown): boolean => Number.isInteger(port) && Number(port) >= 0 && Number(port) <= 65_535
  return Array.isArray(value) && value.length > 0 && value.every(isPort)
}

function listenerOf(server: Server, host: string): Listener {
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    server,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Returns whether another user of this machine made the connection. Only Linux tells. Root may forward a port for this user. */
export function isOfOtherUser({ remotePort = 0, localPort = 0, remoteFamily }: Socket): boolean {
  const table = attempt(() => readFileSync(`/proc/net/tcp${remoteFamily === 'IPv6' ? '6' : ''}`, 'utf8')) ?? ''
  const [from, to] = [remotePort, localPort].map((port) => port.toString(16).toUpperCase().padStart(4, '0'))
  const [, uid] = new RegExp(`:${from} \\w+:${to}(?: +[\\w:]+){4} +(\\d+)`).exec(table) ?? []
  return uid !== undefined && uid !== '0' && Number(uid) !== process.geteuid?.()
}
