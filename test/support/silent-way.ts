import { onTestFinished } from 'vitest'
import type { AtEnd } from './children.ts'
import { type Connection, tcpProxy } from './tcp-proxy.ts'

/** A way to a server on this machine, for one test. */
export interface SilentWay {
  readonly port: number
  /** The connections there are stay open and carry nothing any more, as when the machine behind an address is another now. */
  silence(): void
  /** No connection carries anything any more, whether it is open or begins later, as when the machine has stopped. */
  silenceAll(): void
}

export async function silentWay(port: number, atEnd: AtEnd = onTestFinished): Promise<SilentWay> {
  let silent: ReadonlySet<Connection> | 'all' = new Set()
  const isSilent = (connection: Connection): boolean => silent === 'all' || silent.has(connection)
  const way = await tcpProxy({
    target: () => port,
    filter: (connection) => () => !isSilent(connection),
    closes: (connection) => !isSilent(connection),
  })
  atEnd(() => way.close())
  return {
    port: way.port,
    silence() {
      silent = new Set(way.open)
    },
    silenceAll() {
      silent = 'all'
    },
  }
}
