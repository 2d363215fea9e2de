import { Agent, request as startRequest } from 'node:http'

export interface Answer {
  status: number
  location: string | undefined
  cookies: string[]
  text: string
}

export interface Sent {
  method: 'GET' | 'POST'
  headers: Record<string, string>
  body?: string
}

/** Carries one request to a server; redirects are not followed. */
export type Send = (url: string, sent: Sent) => Promise<Answer>

/** Over loopback, on connections that are kept. */
export function sendOverSockets(): { send: Send; close(): void } {
  const agent = new Agent({ keepAlive: true })
  return { send: (url, sent) => sendBy(agent, url, sent), close: () => agent.destroy() }
}

function sendBy(agent: Agent, url: string, { method, headers, body }: Sent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const request = startRequest(url, { agent, method, headers: { ...headers, ...length } }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          location: response.headers.location,
          cookies: response.headers['set-cookie'] ?? [],
          text: Buffer.concat(chunks).toString(),
        }),
      )
    })
    request.on('error', reject)
    request.end(body)
  })
}
