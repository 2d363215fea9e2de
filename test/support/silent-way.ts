import { onTestFinished } from 'vitest'
import { type Connection, tcpProxy } from './tcp-proxy.ts'

/** A way to a server on this machine, for one test. */
export interface SilentWay {
  readonly port: number
  /** The connections there are stay open and carry nothing any more, as when the machine behind an address is another now. */
  silence(): void
}

export async function silentWay(port: number): Promise<SilentWay> {
  let silent: ReadonlySet<Connection> = new Set()
  const way = await tcpProxy({
    target: () => port,
    filter: (connection) => () => !silent.has(connection),
    closes: (connection) => !silent.has(connection),
  })
  onTestFinished(() => way.close())
  return {
    port: way.port,
    silence() {
      silent = new Set(way.open)
    },
  }
}
