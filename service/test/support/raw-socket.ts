import { connect, type Socket } from 'node:net'

export function open(origin: string): Socket {
  const { port, hostname } = new URL(origin)
  return connect({ port: Number(port), host: hostname })
}

/** Sends bytes as they are and reads until the other side closes; headers are given without Connection. */
export function exchangeBytes(origin: string, head: string[], body: string | Uint8Array = ''): Promise<string> {
  const socket = open(origin)
  const lines = Buffer.from([...head, 'Connection: close', '', ''].join('\r\n'), 'latin1')
  return new Promise((resolve, reject) => {
    let answer = ''
    socket.setTimeout(150_000, () => socket.destroy(new Error('no answer')))
    socket.on('data', (bytes) => {
      answer += bytes.toString('latin1')
    })
    // What was answered before a reset counts.
    socket.on('error', (error) => (answer === '' ? reject(error) : resolve(answer)))
    socket.on('close', () => resolve(answer))
    socket.write(Buffer.concat([lines, Buffer.from(body)]))
  })
}

export function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? 0)
}
