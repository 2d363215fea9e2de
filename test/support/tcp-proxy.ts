import { connect, createServer, type Socket } from 'node:net'
import { listen } from './listen.ts'

export interface TcpProxyOptions {
  /** The port on this machine that the next connection goes to. It is refused if there is none. */
  readonly target: () => number | undefined
  /** Makes a filter for one connection. Data that it refuses are not passed on. */
  readonly filter?: (connection: Connection) => (data: Buffer, from: 'client' | 'server') => boolean
  /** Returns whether a side that closes closes the other. Default: always. */
  readonly closes?: (connection: Connection) => boolean
}

/** One connection through the proxy. */
export interface Connection {
  readonly client: Socket
  readonly server: Socket
}

export interface TcpProxy {
  readonly port: number
  /** The connections that are open. */
  readonly open: ReadonlySet<Connection>
  /** Breaks every connection. */
  cut(): void
  /** Breaks every connection, and listens no longer. */
  close(): Promise<void>
}

/** A way to a server on this machine that can break. */
export async function tcpProxy({ target, filter, closes = () => true }: TcpProxyOptions): Promise<TcpProxy> {
  const open = new Set<Connection>()
  const way = createServer((client) => {
    const port = target()
    if (port === undefined) return void client.destroy()
    const connection: Connection = { client, server: connect(port, '127.0.0.1') }
    open.add(connection)
    const passes = filter?.(connection) ?? (() => true)
    for (const [from, to] of [
      ['client', 'server'],
      ['server', 'client'],
    ] as const) {
      connection[from]
        .on('data', (data) => void (passes(data, from) && connection[to].write(data)))
        .on('error', () => {})
        .on('close', () => {
          if (!closes(connection)) return
          open.delete(connection)
          connection[to].destroy()
        })
    }
  })
  const cut = (): void => {
    for (const { client, server } of open) for (const socket of [client, server]) socket.destroy()
  }
  return {
    port: await listen(way),
    open,
    cut,
    close() {
      cut()
      return new Promise((resolve) => way.close(() => resolve()))
    },
  }
}
