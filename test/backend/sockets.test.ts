import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { guard, statusAndCode } from '../support/backend-rig.ts'
import { gate } from '../support/gate.ts'
import { listening, socketRig } from '../support/socket-rig.ts'

/** `@hono/node-server` waits 500 ms for the rest of a body that is not read (`DRAIN_TIMEOUT_MS`). */
const longerThanAdapterWaitsMs = 800

const items = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  let body = ''
  for await (const chunk of request) body += chunk
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ url: request.url, body }))
}

describe('over sockets', () => {
  test('a body that is streamed to the API arrives chunk by chunk', async () => {
    const begun = gate()
    const { call } = await socketRig(async (request, response) => {
      let size = 0
      for await (const chunk of request) {
        size += (chunk as Buffer).length
        begun.open()
      }
      response.end(String(size))
    })
    let sent = 0
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (sent++ === 0) return controller.enqueue(new Uint8Array(1_000))
        // The rest is sent when the API has the beginning.
        await begun.passed
        controller.enqueue(new Uint8Array(200_000))
        controller.close()
      },
    })
    const headers = { 'content-type': 'application/octet-stream', 'content-length': '201000' }
    const answered = await call('/api/items', { method: 'POST', body, headers, duplex: 'half' } as RequestInit)
    expect(await answered.text()).toBe('201000')
  })

  test('a response is streamed to the browser chunk by chunk', async () => {
    let more: (() => void) | undefined
    const { call } = await socketRig((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
      more = () => response.end('data: 2\n\n')
    })
    const answered = await call('/api/items/7')
    expect(answered.headers.get('content-type')).toBe('text/event-stream')
    const reader = answered.body?.pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader?.read())?.value).toBe('data: 1\n\n')
    more?.()
    expect((await reader?.read())?.value).toBe('data: 2\n\n')
    expect((await reader?.read())?.done).toBe(true)
  })

  test.each(['before the response', 'during the response'])(
    'a browser that leaves %s frees the connection to the API',
    async (when) => {
      const [arrived, closed] = [gate(), gate()]
      const { call } = await socketRig((_, response) => {
        response.on('close', closed.open)
        arrived.open()
        if (when === 'during the response') response.writeHead(200).write('begun')
      })
      const gone = new AbortController()
      const calling = call('/api/items/7', { signal: gone.signal }).then(async (answered) => {
        const reader = answered.body?.getReader()
        await reader?.read()
        gone.abort()
      })
      if (when === 'before the response') {
        await arrived.passed
        gone.abort()
      }
      await Promise.allSettled([calling])
      await closed.passed
    },
  )

  test('a redirect over sockets is a 502, and the token goes nowhere', async () => {
    const elsewhere: IncomingMessage[] = []
    const port = await listening(createServer((request, response) => response.end(String(elsewhere.push(request)))))
    for (const status of [302, 307]) {
      const { call } = await socketRig((_, response) => {
        response.writeHead(status, { location: `http://127.0.0.1:${port}/` }).end()
      })
      const answered = await call('/api/items/7')
      expect(answered.status).toBe(502)
      expect(await answered.json()).toMatchObject({ code: 'request_failed', retryable: false })
    }
    expect(elsewhere).toEqual([])
  })

  test.each(['gzip', 'none'])('a response with the content coding %s arrives decoded', async (packed) => {
    const { call, seen } = await socketRig((_, response) => {
      const text = JSON.stringify({ text: 'x'.repeat(1_000) })
      const body = packed === 'gzip' ? gzipSync(text) : Buffer.from(text)
      if (packed === 'gzip') response.setHeader('content-encoding', packed)
      response.writeHead(200, { 'content-length': body.length }).end(body)
    })
    const answered = await call('/api/items/7', { headers: { 'accept-encoding': 'gzip, br' } })
    expect(answered.headers.get('content-encoding')).toBeNull()
    if (packed === 'none') expect(answered.headers.get('content-length')).toBe('1011')
    expect(await answered.json()).toEqual({ text: 'x'.repeat(1_000) })
    expect(seen[0]?.headers['accept-encoding']).toBe('identity')
  })

  test.each(['zstd', 'compress', 'gzip, zstd', 'gzip, identity', 'gzip,', ', gzip', 'x-own'])(
    'a body with the content coding %s, which Node does not decode: 502, and no byte of it',
    async (coding) => {
      const { call, rig } = await socketRig((_, response) => {
        response.setHeader('content-encoding', coding)
        response.end(Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3]))
      })
      const answered = await call('/api/items/7')
      expect(await statusAndCode(answered)).toEqual({ status: 502, code: 'request_failed' })
      expect(rig.events.at(-1)).toMatchObject({ type: 'proxied', status: 502 })
    },
  )

  test.each(['x-gzip', 'GZIP', 'identity', 'deflate', 'br'])(
    'a body in the content coding %s arrives as plain text',
    async (coding) => {
      const pack = { deflate: deflateSync, br: brotliCompressSync, identity: Buffer.from }[coding] ?? gzipSync
      const { call } = await socketRig((_, response) => {
        response.setHeader('content-encoding', coding)
        response.end(pack('plain text'))
      })
      const answered = await call('/api/items/7')
      expect({ status: answered.status, text: await answered.text() }).toEqual({ status: 200, text: 'plain text' })
    },
  )

  test.each([
    ['a body that is too large', 413, {}, 1_100_000],
    ['a request of a page of another site', 403, { 'sec-fetch-site': 'cross-site' }, 100_000],
    ['a request without a session', 401, { cookie: 'none=1' }, 100_000],
  ])(
    '%s is refused with %i while it is being sent, and the connection serves the next request',
    async (_, status, changed, size) => {
      const { port, person, seen } = await socketRig(items)
      const headers = { host: 'x', ...guard, cookie: person.cookieHeader(), ...changed }
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
      const socket = connect(port, '127.0.0.1').setEncoding('latin1')
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk
      })
      socket.write(`POST /api/items HTTP/1.1\r\n${lines.join('')}content-length: ${size}\r\n\r\n`)
      await sleep(longerThanAdapterWaitsMs)
      socket.write(Buffer.alloc(size))
      socket.write('GET /next HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
      await once(socket, 'close')
      expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`, 'HTTP/1.1 404'])
      expect(seen).toEqual([])
    },
  )
})

/** Sends a long body in halves, then a request for the session on the same connection. Returns the two statuses. */
async function halves(port: number, headers: Readonly<Record<string, string>>, half: string): Promise<unknown[]> {
  const socket = connect(port, '127.0.0.1')
  const lines = Object.entries({ host: 'app', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`POST /api/items HTTP/1.1\r\n${lines.join('')}\r\n${half}`)
  // A response that does not wait for the rest comes in this time.
  await sleep(100)
  const end = headers['transfer-encoding'] ? '0\r\n\r\n' : ''
  socket.write(`${half}${end}GET /auth/session HTTP/1.1\r\nhost: app\r\nconnection: close\r\n\r\n`)
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('close', resolve))
  return [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))
}

const half = 'a'.repeat(400_000)
const long = { 'content-length': '800000' }
const chunk = `${half.length.toString(16)}\r\n${half}\r\n`
const unread: [what: string, status: number, body: [Readonly<Record<string, string>>, string]][] = [
  ['a session that is gone', 401, [long, half]],
  ['an API that hangs up', 502, [long, half]],
  ['an API that hangs up on a short body', 502, [{ 'content-length': '2' }, 'a']],
  ['a body that turns out to be over 1 MiB', 413, [{ 'transfer-encoding': 'chunked' }, chunk + chunk]],
]
test.each(unread)(
  '%s gets a response on a connection that continues, however much was still to come',
  async (what, status, [headers, bytes]) => {
    const { person, port, rig } = await socketRig((request) =>
      what.includes('hangs up') ? request.socket.destroy() : request.resume(),
    )
    const signedIn = { ...guard, cookie: person.cookieHeader() }
    if (what.includes('gone')) await person.logOut()
    expect(await halves(port, { ...signedIn, ...headers }, bytes)).toEqual([status, 200])
    expect(rig.events.at(-1)).toMatchObject({ status })
  },
)
