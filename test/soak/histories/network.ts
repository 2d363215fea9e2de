import { createServer } from 'node:net'
import type { AtEnd } from '../../support/children.ts'
import { listen } from '../../support/listen.ts'
import { type Connection, type TcpProxy, tcpProxy } from '../../support/tcp-proxy.ts'
import type { Random } from './random.ts'

export type Direction = 'client' | 'server'

/** The way of one process to the storage, which can be bad in each direction. */
export interface Way {
  readonly port: number
  /** Delays what comes from one side, on each connection by a time of its own, so that connections overtake each other. */
  delay(from: Direction, maxMs: number): void
  /** Breaks every connection. */
  cut(): void
  /** Ends one direction of every connection and leaves the other open. */
  halfClose(to: Direction): void
  /** Sends new connections to another port on this machine. */
  moveTo(port: number): void
  /** Undoes delays, and breaks the connections that were half closed. */
  heal(): void
}

export async function wayTo(atEnd: AtEnd, port: number, random: Random): Promise<Way> {
  let target = port
  const maxMs: Record<Direction, number> = { client: 0, server: 0 }
  const proxy: TcpProxy = await tcpProxy({ target: () => target, filter: delayedBy })
  atEnd(() => proxy.close())

  function delayedBy(connection: Connection): (data: Buffer, from: Direction) => boolean {
    const share = random.fraction()
    return (data, from) => {
      const ms = share * maxMs[from]
      if (ms < 1) return true
      const to = connection[from === 'client' ? 'server' : 'client']
      // Timers of one length fire in the order in which they were set, so that a connection keeps its order, as TCP does.
      setTimeout(() => void (to.writable && to.write(data)), ms)
      return false
    }
  }

  return {
    port: proxy.port,
    delay(from, ms) {
      maxMs[from] = ms
    },
    cut: proxy.cut,
    halfClose(to) {
      for (const connection of proxy.open) connection[to].end()
    },
    moveTo(moved) {
      target = moved
    },
    heal() {
      Object.assign(maxMs, { client: 0, server: 0 })
      proxy.cut()
    },
  }
}

/** An address that accepts connections and says nothing, as one does that a machine has left. */
export async function silentAddress(atEnd: AtEnd): Promise<number> {
  const server = createServer((socket) => socket.on('error', () => {}).resume())
  atEnd(() => new Promise((resolve) => server.close(() => resolve())))
  return listen(server)
}
