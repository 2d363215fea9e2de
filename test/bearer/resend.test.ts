import { createServer } from 'node:http'
import { createBearerFetch } from 'agent-auth'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { apiStub } from '../support/api-stub.ts'
import { listen } from '../support/listen.ts'
import { type SignedIn, signedIn } from '../support/signed-in.ts'
import { respond, startWire, type Wire, type WireRequest } from '../support/wire.ts'

type Call = (send: typeof fetch, url: string) => Promise<Response>

/** Every byte value, so that no text decoding goes unnoticed. */
function bytes(size: number): Uint8Array<ArrayBuffer> {
  const made = new Uint8Array(size)
  for (let index = 0; index < size; index += 1) made[index] = (index * 7) % 256
  return made
}
const mebibyte = 1_048_576
const post = (body: BodyInit, more: RequestInit = {}): RequestInit => ({ method: 'POST', body, ...more })
const streamed = (size: number): RequestInit => post(stream(size), { duplex: 'half' } as RequestInit)

let wire: Wire
let signed: SignedIn

afterEach(() => wire.close())

describe('the same bytes', () => {
  it.each<[kind: string, call: Call, size: number]>([
    ['a string', (send, url) => send(url, post('{"name":"\u00e9\u2603"}')), 16],
    ['an empty string', (send, url) => send(url, post('')), 0],
    ['URLSearchParams', (send, url) => send(url, post(new URLSearchParams({ a: '1', b: '\u00e9 &' }))), 16],
    ['an ArrayBuffer', (send, url) => send(url, post(bytes(1_000).buffer)), 1_000],
    ['a typed array', (send, url) => send(url, post(bytes(1_000))), 1_000],
    ['a part of a buffer', (send, url) => send(url, post(bytes(1_000).subarray(10, 20))), 10],
    ['a DataView', (send, url) => send(url, post(new DataView(bytes(1_000).buffer, 5, 30))), 30],
    ['a Blob', (send, url) => send(url, post(new Blob([bytes(1_000)], { type: 'image/png' }))), 1_000],
    ['a Request with a string', (send, url) => send(new Request(url, post('{"a":1}'))), 7],
    ['a Request with a stream', (send, url) => send(new Request(url, streamed(10_000))), 10_000],
    ['a Request of 1 MiB', (send, url) => send(new Request(url, streamed(mebibyte))), mebibyte],
    ['a Request and a body beside it', (send, url) => send(new Request(url, post('old')), { body: bytes(100) }), 100],
    ['a Request and a stream beside it', (send, url) => send(new Request(url, post('old')), streamed(10_000)), 10_000],
  ])('%s is sent again after a 401, byte for byte', async (_, call, size) => {
    await start()
    const response = await call(createBearerFetch(signed.session, { baseUrl: wire.url }), wire.url)
    expect(response.status).toBe(200)
    const [first, second] = wire.requests
    expect(wire.requests).toHaveLength(2)
    expect(bodyOf(first).length).toBe(size)
    expect(bodyOf(second).equals(bodyOf(first))).toBe(true)
    expect({ method: second?.method, contentType: second?.header('content-type') }).toStrictEqual({
      method: first?.method,
      contentType: first?.header('content-type'),
    })
    expect([first, second].map((request) => request?.header('authorization'))).toEqual(
      signed.issued.map((token) => `Bearer ${token}`),
    )
  })

  it('a Request whose stream uses its buffer for something else meanwhile is sent again as it was', async () => {
    await start()
    const [buffer, sent] = [new TextEncoder().encode('as it was'), [] as string[]]
    const api: typeof fetch = async (input) => {
      sent.push(await new Response((input as Request).body).text())
      buffer.fill(0)
      return new Response(null, { status: sent.length === 1 ? 401 : 200 })
    }
    const { readable: body, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const writer = writable.getWriter()
    void writer.write(buffer).then(() => writer.close())
    const send = createBearerFetch(signed.session, { baseUrl: wire.url, fetch: api })
    await send(new Request(wire.url, post(body, { duplex: 'half' } as RequestInit)))
    expect(sent).toEqual(['as it was', 'as it was'])
  })

  it('bytes the caller changes after the call do not go out changed', async () => {
    await start()
    const body = bytes(100)
    const call = createBearerFetch(signed.session, { baseUrl: wire.url })(wire.url, post(body))
    body.fill(0)
    await call
    for (const request of wire.requests) expect(bodyOf(request).equals(Buffer.from(bytes(100)))).toBe(true)
    expect(wire.requests).toHaveLength(2)
  })

  it.each<[kind: string, call: Call]>([
    ['FormData', (send, url) => send(url, post(form()))],
    ['a Request with FormData', (send, url) => send(new Request(url, post(form())))],
  ])('%s is sent again with the same fields and files, its boundary aside', async (_, call) => {
    await start()
    expect((await call(createBearerFetch(signed.session, { baseUrl: wire.url }), wire.url)).status).toBe(200)
    const [first, second] = wire.requests.map(withoutBoundary)
    expect(first).toContain('name="file"; filename="a.bin"')
    expect(wire.requests).toHaveLength(2)
    expect(second).toBe(first)
  })

  it('what the caller changes after the first sending is not in the second', async () => {
    const [buffer, view] = [bytes(100).buffer, bytes(100)]
    const [params, fields] = [new URLSearchParams({ a: '1' }), form()]
    const bodies: [BodyInit, change: () => void][] = [
      [buffer, () => new Uint8Array(buffer).fill(0)],
      [view, () => view.fill(0)],
      [params, () => params.append('b', '2')],
      [fields, () => fields.append('b', '2')],
    ]
    for (const [body, change] of bodies) {
      await start(change)
      expect((await createBearerFetch(signed.session, { baseUrl: wire.url })(wire.url, post(body))).status).toBe(200)
      const [first, second] = wire.requests.map(withoutBoundary)
      expect(second).toBe(first)
      expect(wire.requests).toHaveLength(2)
      await wire.close()
    }
    await start()
  })
})

describe('or not at all', () => {
  it.each<[kind: string, call: Call, size: number]>([
    ['a stream', (send, url) => send(url, streamed(10_000)), 10_000],
    ['a Request of 1 MiB and a byte', (send, url) => send(new Request(url, streamed(mebibyte + 1))), mebibyte + 1],
    ['an async iterable', (send, url) => send(url, iterated(pieces())), 6],
  ])(
    '%s goes out once and whole; its 401 comes back readable, and the next call has the newer token',
    async (_, call, size) => {
      await start()
      const send = createBearerFetch(signed.session, { baseUrl: wire.url })
      const response = await call(send, wire.url)
      expect({ status: response.status, text: await response.text() }).toEqual({
        status: 401,
        text: 'invalid authentication credentials',
      })
      expect(wire.requests).toHaveLength(1)
      expect(bodyOf(wire.requests[0]).length).toBe(size)
      expect((await send(wire.url)).status).toBe(200)
      expect({ requestsCount: wire.requests.length, refreshes: signed.refreshes }).toEqual({
        requestsCount: 2,
        refreshes: 1,
      })
    },
  )

  it('a stream that breaks off is the caller\u2019s error, and nothing is sent again', async () => {
    await start()
    const failure = new Error('The disk is gone.')
    const broken = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.error(failure)
      },
    })
    const init = post(broken, { duplex: 'half' } as RequestInit)
    await expect(createBearerFetch(signed.session, { baseUrl: wire.url })(wire.url, init)).rejects.toThrow(Error)
    expect({ requestsCount: wire.requests.length, refreshes: signed.refreshes }).toEqual({
      requestsCount: 0,
      refreshes: 0,
    })
  })

  it('a 401 that comes while the stream still runs is handed over at once', async () => {
    await start()
    const early = createServer((_, response) => response.writeHead(401).end('too early'))
    const url = `http://127.0.0.1:${await listen(early)}/`
    let end = (): void => {}
    const unfinished = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes(10))
        end = () => controller.close()
      },
    })
    try {
      const request = new Request(url, post(unfinished, { duplex: 'half' } as RequestInit))
      const response = await createBearerFetch(signed.session, { baseUrl: url })(request)
      expect({ status: response.status, text: await response.text() }).toEqual({ status: 401, text: 'too early' })
    } finally {
      end()
      early.closeAllConnections()
      early.close()
    }
  })
})

it.each(['text', 'session'])('a Request is used right after the call, also over a %s', async (kind) => {
  await start()
  const request = new Request(wire.url, post('x'))
  const call = createBearerFetch(kind === 'text' ? 'token' : signed.session, { baseUrl: wire.url })(request)
  expect(request.bodyUsed).toBe(true)
  await call
})

describe('an aborted signal cancels a stream with its own reason', () => {
  const reason = new Error('enough')
  /** A stream without an end, and the reasons for which it was cancelled. */
  function endless(): { body: ReadableStream<Uint8Array>; reasons: unknown[] } {
    const reasons: unknown[] = []
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(bytes(10)),
      cancel: (given) => void reasons.push(given),
    })
    return { body, reasons }
  }

  it('at once if it was aborted before', async () => {
    await start()
    const { body, reasons } = endless()
    const init = post(body, { duplex: 'half', signal: AbortSignal.abort(reason) } as RequestInit)
    const call = createBearerFetch('token', { baseUrl: wire.url })(wire.url, init)
    expect(reasons).toEqual([reason])
    await expect(call).rejects.toBe(reason)
  })

  it.each(['settings', 'Request'])('while a token is waited for, in %s', async (where) => {
    await start()
    const { body, reasons } = endless()
    const leaving = new AbortController()
    const source = {
      getAccessToken: ({ signal }: { signal?: AbortSignal | null } = {}) =>
        new Promise<string>((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted')))),
    }
    const init = post(body, { duplex: 'half', signal: leaving.signal } as RequestInit)
    const send = createBearerFetch(source, { baseUrl: wire.url })
    const call = where === 'settings' ? send(wire.url, init) : send(new Request(wire.url, init))
    leaving.abort(reason)
    await expect(call).rejects.toBe(reason)
    // The platform gives the reasons of both copies of a Request's body.
    await expect.poll(() => reasons).toEqual(where === 'settings' ? [reason] : [[reason, reason]])
  })
})

describe('a body that is not sent', () => {
  /** A source that stays open, as an open file does, until it is cancelled. */
  function open(): { body: ReadableStream<Uint8Array>; cancelled: () => boolean } {
    let isCancelled = false
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(bytes(1_024)),
      cancel() {
        isCancelled = true
      },
    })
    return { body, cancelled: () => isCancelled }
  }
  const ways: [where: string, call: (send: typeof fetch, init: RequestInit) => Promise<Response>][] = [
    ['the settings', (send, init) => send(wire.url, init)],
    ['a Request', (send, init) => send(new Request(wire.url, init))],
    ['a Request given as the settings', (send, init) => send(wire.url, new Request(wire.url, init))],
    ['the settings beside a Request', (send, init) => send(new Request(wire.url, { method: 'POST', body: 'x' }), init)],
  ]
  const streaming = (body: BodyInit, more: RequestInit = {}): RequestInit =>
    post(body, { duplex: 'half', ...more } as RequestInit)

  it.each(ways)('is cancelled when no token can be had: a stream in %s', async (_, call) => {
    await start()
    const { body, cancelled } = open()
    await signed.session.signOut()
    const send = createBearerFetch(signed.session, { baseUrl: wire.url })
    await expect(call(send, streaming(body))).rejects.toMatchObject({ code: 'login_required' })
    await expect.poll(cancelled).toBe(true)
    expect(wire.requests).toEqual([])
  })
})

describe('platforms whose classes do less', () => {
  afterEach(() => vi.unstubAllGlobals())

  it('a FormData that cannot be listed, as React Native\u2019s, is sent as it is, once', async () => {
    await start()
    class FormData {
      readonly parts: [string, unknown][] = []
      append(name: string, value: unknown): void {
        this.parts.push([name, value])
      }
    }
    vi.stubGlobal('FormData', FormData)
    const body = new FormData()
    body.append('photo', { uri: 'file:///x.jpg', type: 'image/jpeg', name: 'x.jpg' })
    const api = apiStub(() => new Response(null, { status: 401 }))
    const send = createBearerFetch(signed.session, { baseUrl: wire.url, fetch: api.fetch })
    expect((await send(wire.url, post(body as unknown as BodyInit))).status).toBe(401)
    expect(api.calls.map(({ init }) => init?.body)).toEqual([body])
  })

  it('URLSearchParams that cannot be made from each other, as React Native\u2019s, keep their content', async () => {
    await start()
    const Native = URLSearchParams
    class Params {
      readonly own = new Native()
      constructor(init?: object) {
        if (typeof init === 'object') for (const [name, value] of Object.entries(init)) this.append(name, String(value))
      }
      append(name: string, value: string): void {
        this.own.append(name, value)
      }
      [Symbol.iterator](): Iterator<[string, string]> {
        return this.own[Symbol.iterator]()
      }
      toString(): string {
        return `${this.own}`
      }
    }
    vi.stubGlobal('URLSearchParams', Params)
    const api = apiStub(() => new Response(null, { status: 401 }))
    const source = { getAccessToken: async ({ rejected = '' } = {}) => `${rejected}x` }
    const send = createBearerFetch(source, { baseUrl: wire.url, fetch: api.fetch })
    await send(wire.url, post(new Params({ a: '1', b: '&' }) as unknown as BodyInit))
    expect(api.calls.map(({ init }) => String(init?.body))).toEqual(['a=1&b=%26', 'a=1&b=%26'])
  })
})

/** Answers 401 to all but the token of the first refresh. */
async function start(on401: () => void = () => {}): Promise<void> {
  signed = await signedIn()
  wire = await startWire(({ header }) => {
    if (header('authorization') === `Bearer ${signed.issued[1]}`) return respond(200, {}, 'ok')
    on401()
    return respond(401, {}, 'invalid authentication credentials')
  })
}

function stream(size: number): ReadableStream<Uint8Array> {
  const all = bytes(size)
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= size) return controller.close()
      controller.enqueue(all.slice(at, at + 65_536))
      at += 65_536
    },
  })
}

async function* pieces(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('abc')
  yield Buffer.from('def')
}

/** Bodies that only Node's fetch takes. */
function iterated(body: AsyncIterable<Uint8Array>): RequestInit {
  return { method: 'POST', body: body as unknown as BodyInit, duplex: 'half' } as RequestInit
}

function form(): FormData {
  const fields = new FormData()
  fields.append('a', '1')
  fields.append('a', '\u00e9')
  fields.append('file', new File([bytes(1_000)], 'a.bin', { type: 'image/png' }))
  return fields
}

/** The body as the server gets it, whatever its framing. */
function bodyOf(request: WireRequest | undefined): Buffer {
  if (!request) throw new Error('There was no such request.')
  const body = request.bytes.subarray(request.bytes.indexOf('\r\n\r\n') + 4)
  if (request.header('transfer-encoding') !== 'chunked') return body
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = body.indexOf('\r\n', at)
    const size = Number.parseInt(body.toString('latin1', at, lineEnd), 16)
    if (size === 0) return Buffer.concat(chunks)
    chunks.push(body.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
}

function withoutBoundary(request: WireRequest): string {
  const type = request.header('content-type') ?? ''
  const boundary = /boundary=(.*)$/.exec(type)?.[1]
  const text = `${type}\n${bodyOf(request).toString('latin1')}`
  return boundary ? text.replaceAll(boundary, 'boundary') : text
}
