import { Agent, createServer, type RequestListener, request as startRequest } from 'node:http'
import { Duplex } from 'node:stream'

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

/** To a Node handler in this process: HTTP as always, but over a pair of streams instead of a socket. */
export function sendToHandler(handler: RequestListener): { send: Send; close(): void } {
  const server = createServer(handler)
  const agent = new Agent({ keepAlive: true })
  agent.createConnection = () => {
    const [near, far] = streamPair()
    server.emit('connection', far)
    return near
  }
  return { send: (url, sent) => sendBy(agent, url, sent), close: () => agent.destroy() }
}

/** To a service that answers `fetch` in this process. */
export function sendByFetch(fetch: (url: string, init: RequestInit) => Promise<Response>): Send {
  return async (url, sent) => {
    const response = await fetch(url, { ...sent, redirect: 'manual' })
    return {
      status: response.status,
      location: response.headers.get('location') ?? undefined,
      cookies: response.headers.getSetCookie(),
      text: await response.text(),
    }
  }
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

/** One end of a pair. The rest of a socket's face is there because Node's agent and server call it. */
class End extends Duplex {
  other: End | undefined

  override _read(): void {}
  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.other?.push(chunk)
    done()
  }
  override _final(done: () => void): void {
    this.other?.push(null)
    done()
  }
  setKeepAlive(): this {
    return this
  }
  setNoDelay(): this {
    return this
  }
  setTimeout(): this {
    return this
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }
}

function streamPair(): [End, End] {
  const near = new End()
  const far = new End()
  near.other = far
  far.other = near
  return [near, far]
}
