import { once } from 'node:events'
import { Agent, createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'

// A process of its own: the API, and the browsers that call the backend in front of it.

export interface Calls {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly calls: number
}

const parallel = 16
const body = JSON.stringify({ limit: 10, offset: 0 })
const answer = JSON.stringify({ success: true, data: { items: [{ name: 'x'.repeat(1_000) }], count: 1 } })

const api = createServer((request, response) => {
  request.resume().on('end', () => response.setHeader('content-type', 'application/json').end(answer))
})
// Longer than any pause between two rounds.
api.keepAliveTimeout = 60_000
await once(api.listen(0, '127.0.0.1'), 'listening')

process.on('disconnect', () => process.exit())
process.on('message', async ({ url, headers, calls }: Calls) => {
  const agent = new Agent({ keepAlive: true, maxSockets: parallel })
  let left = calls
  const browser = async (): Promise<void> => {
    while (left-- > 0) await call(url, agent, headers)
  }
  const failure = await Promise.all(Array.from({ length: parallel }, browser)).then(
    () => undefined,
    (error) => String(error),
  )
  agent.destroy()
  process.send?.({ failure })
})
process.send?.({ url: `http://127.0.0.1:${(api.address() as AddressInfo).port}` })

function call(url: string, agent: Agent, headers: Readonly<Record<string, string>>): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers }
    const request = httpRequest(url, { method: 'POST', agent, headers: sent }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`))
      response.resume().on('end', resolve).on('error', reject)
    })
    request.on('error', reject).end(body)
  })
}
