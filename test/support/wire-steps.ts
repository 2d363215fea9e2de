import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGzip } from 'node:zlib'
import type { WireRequest } from './wire-request.ts'

/** What the server does with one request. `on: 'connection'` acts before a byte is read. */
export interface Step {
  readonly on?: 'connection'
  run(socket: Socket, request: WireRequest | undefined): void | Promise<void>
}

export type HeaderLines = Readonly<Record<string, string>>

const json: HeaderLines = { 'content-type': 'application/json' }

/** A whole, well-framed answer. An object or array is sent as JSON. */
export function respond(status: number, headers: HeaderLines = {}, body: string | Uint8Array | object = ''): Step {
  const plain = typeof body === 'string' || body instanceof Uint8Array
  const bytes = Buffer.from(plain ? body : JSON.stringify(body))
  return step(async (socket) => {
    const framed = { ...(plain ? {} : json), ...headers, 'content-length': String(bytes.length) }
    await send(socket, Buffer.concat([Buffer.from(head(status, framed)), bytes]))
  })
}

export function redirect(status: number, location: string): Step {
  return respond(status, { location })
}

/** Resets the connection: before anything is read, or after the whole request was. */
export function reset(when: 'before reading' | 'after reading'): Step {
  const run = (socket: Socket): void => void socket.resetAndDestroy()
  return when === 'before reading' ? { on: 'connection', run } : { run }
}

/** Reads the request and never answers; or answers with the head and never with the body. */
export function stall(after: 'request' | 'head' = 'request'): Step {
  return step(async (socket) => {
    if (after === 'head') await send(socket, head(200, { ...json, 'content-length': '100' }))
  })
}

/** The text a few bytes at a time; without a text, spaces for ever. `slow: 'head'` trickles the status and headers as well. */
export function trickle(options: { intervalMs: number; text?: string; bytes?: number; slow?: 'body' | 'head' }): Step {
  const { intervalMs, text, bytes = 1, slow = 'body' } = options
  return step(async (socket) => {
    // Without a length: the connection's end is the body's end.
    const start = head(200, { ...json, connection: 'close' })
    if (slow === 'body') await send(socket, start)
    const slowly = (slow === 'head' ? start : '') + (text ?? '')
    for (let at = 0; isOpen(socket) && (text === undefined || at < slowly.length); at += bytes) {
      await send(socket, slowly.slice(at, at + bytes) || ' '.repeat(bytes))
      await sleep(intervalMs)
    }
    socket.end()
  })
}

/** The first text, and the second once `isRead` has resolved. */
export function inTwoParts(first: string, second: string, isRead: Promise<void>): Step {
  return step(async (socket) => {
    // Without a length: the connection's end is the body's end.
    await send(socket, head(200, { ...json, connection: 'close' }) + first)
    await isRead
    await send(socket, second)
    socket.end()
  })
}

/**
 * The first bytes of a body, then the end of the connection. `close`: no length was declared, so the client can't see that
 * something is missing; `length`: fewer bytes than Content-Length says; `chunked`: without the last chunk.
 */
export function truncate(
  body: string,
  keep: number,
  framing: 'close' | 'length' | 'chunked',
  end: 'fin' | 'reset' = 'fin',
): Step {
  const length = Buffer.byteLength(body)
  const kept = Buffer.from(body).subarray(0, keep)
  const framed = framing === 'chunked' ? Buffer.concat([Buffer.from(`${length.toString(16)}\r\n`), kept]) : kept
  const headers: Record<typeof framing, HeaderLines> = {
    close: { connection: 'close' },
    length: { 'content-length': String(length) },
    chunked: { 'transfer-encoding': 'chunked' },
  }
  return step(async (socket) => {
    await send(socket, Buffer.concat([Buffer.from(head(200, { ...json, ...headers[framing] })), framed]))
    if (end === 'reset') socket.resetAndDestroy()
    else socket.end()
  })
}

/** A chunked JSON body that never ends, as fast as the client reads. */
export function endless(): Step {
  return step(async (socket) => {
    await send(socket, head(200, { ...json, 'transfer-encoding': 'chunked' }))
    await send(socket, chunk('{"access_token":"x","pad":"'))
    const pad = chunk('a'.repeat(16_384))
    while (isOpen(socket)) await send(socket, pad)
  })
}

let bomb: Promise<Buffer> | undefined

/** A good token answer that 200 kB of gzip inflate to 200 MB. */
export function gzipBomb(): Step {
  return step(async (socket) => {
    bomb ??= inflatesTo(200)
    const body = await bomb
    const headers = { ...json, 'content-encoding': 'gzip', 'content-length': String(body.length) }
    await send(socket, Buffer.concat([Buffer.from(head(200, headers)), body]))
  })
}

/** Any bytes at all, for answers that are not HTTP. */
export function raw(bytes: string | Uint8Array, end: 'fin' | 'reset' | 'open' = 'fin'): Step {
  return step(async (socket) => {
    await send(socket, bytes)
    if (end === 'fin') socket.end()
    if (end === 'reset') socket.resetAndDestroy()
  })
}

async function inflatesTo(megabytes: number): Promise<Buffer> {
  // Compressed in passing: the 200 MB must not be in the memory of the process that a test measures.
  const gzip = createGzip({ level: 9 })
  const packed: Buffer[] = []
  gzip.on('data', (part: Buffer) => packed.push(part))
  gzip.write('{"access_token":"x","pad":"')
  const pad = Buffer.alloc(1_000_000, 'a')
  for (let done = 0; done < megabytes; done++) if (!gzip.write(pad)) await once(gzip, 'drain')
  gzip.end('"}')
  await once(gzip, 'end')
  return Buffer.concat(packed)
}

function step(run: (socket: Socket) => Promise<void>): Step {
  return { run }
}

function head(status: number, headers: HeaderLines): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} Scripted\r\n${lines.join('')}\r\n`
}

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
}

function isOpen(socket: Socket): boolean {
  return !socket.destroyed && socket.writable
}

/** Resolves when the bytes were taken, or the connection is gone. */
async function send(socket: Socket, bytes: string | Uint8Array): Promise<void> {
  if (!isOpen(socket)) return
  await new Promise<void>((resolve) => {
    const done = (): void => {
      socket.off('close', done)
      resolve()
    }
    socket.once('close', done)
    socket.write(bytes, done)
  })
}
