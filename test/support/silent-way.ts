import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A way to a server on this machine, for one test. */
export interface SilentWay {
  readonly port: number
  /** The connections there are stay open and carry nothing any more, as when the machine behind an address is another now. */
  silence(): void
}

export async function silentWay(port: number): Promise<SilentWay> {
  const open = new Set<Socket>()
  let silent = new Set<Socket>()
  const way = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    open.add(near)
    const pass = (to: Socket) => (data: Buffer) => void (silent.has(near) || to.write(data))
    near.on('data', pass(far)).on('close', () => far.destroy())
    far.on('data', pass(near)).on('close', () => void (silent.has(near) || near.destroy()))
    for (const socket of [near, far]) socket.on('error', () => {})
  })
  await once(way.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
    way.close()
  })
  return {
    port: (way.address() as AddressInfo).port,
    silence() {
      silent = new Set(open)
    },
  }
}
