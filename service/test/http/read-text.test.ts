import { expect, test } from 'vitest'
import { readAtMost } from '../../src/http/messages.ts'

const most = 10

function post(body: BodyInit, headers: Record<string, string> = {}): Request {
  return new Request('http://service.example/', { method: 'POST', body, headers, duplex: 'half' } as RequestInit)
}

function chunks(...parts: string[]): ReadableStream {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(new TextEncoder().encode(part))
      controller.close()
    },
  })
}

test.each([
  ['declared', post('0123456789', { 'content-length': '10' })],
  ['not declared', post(chunks('01234', '56789'))],
])('a body of the greatest length is read, its length %s', async (_name, request) => {
  expect(await readAtMost(request, most)).toEqual({ kind: 'text', text: '0123456789' })
})

test.each([
  ['declares it', post('0123456789+', { 'content-length': '11' })],
  ['declares less', post('0123456789+', { 'content-length': '5' })],
  ['declares nothing', post(chunks('01234', '56789', '+'))],
])('a body that is too long is refused when it %s', async (_name, request) => {
  expect(await readAtMost(request, most)).toEqual({ kind: 'too_large' })
})

test('a body that declares its length still has to be UTF-8', async () => {
  const request = post(new Uint8Array([0xff, 0xfe]), { 'content-length': '2' })
  expect(await readAtMost(request, most)).toEqual({ kind: 'not_utf8' })
})

test('of a body that declares too much nothing is read', async () => {
  let pulls = 0
  const endless = new ReadableStream(
    {
      pull(controller) {
        pulls += 1
        controller.enqueue(new Uint8Array(1_024))
        if (pulls === 100) controller.close()
      },
    },
    { highWaterMark: 0 },
  )
  const request = post(endless, { 'content-length': '11' })
  expect(await readAtMost(request, most)).toEqual({ kind: 'too_large' })
  expect(pulls).toBe(0)
})

test('the chunks of a body are copied as they arrive, so that many small ones take no more memory than their bytes', async () => {
  const sent = '0123456789'
  const reused = new Uint8Array(1)
  let at = 0
  const body = new ReadableStream(
    {
      pull(controller) {
        reused[0] = sent.charCodeAt(at)
        at += 1
        controller.enqueue(reused)
        if (at === sent.length) controller.close()
      },
    },
    { highWaterMark: 0 },
  )
  expect(await readAtMost(post(body), most)).toEqual({ kind: 'text', text: sent })
})
