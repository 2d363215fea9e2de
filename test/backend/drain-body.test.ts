import { expect, test } from 'vitest'
import { drainBody } from '../../src/backend/proxy/bodies.ts'

/** A request whose body has no end, and how much of it was taken. */
function endless(headers: Record<string, string> = {}): { request: Request; readBytes(): number } {
  let bytes = 0
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        bytes += 65_536
        controller.enqueue(new Uint8Array(65_536))
      },
    },
    { highWaterMark: 0 },
  )
  const init: RequestInit & { duplex: 'half' } = { method: 'POST', body, headers, duplex: 'half' }
  const request = new Request('https://app.example.com/', init)
  return { request, readBytes: () => bytes }
}

test('of a refused body 8 MiB are read, and not more', async () => {
  const { request, readBytes } = endless()
  await drainBody(request)
  expect(readBytes()).toBe(8_388_608)
})

test('a refused body that says it is longer is not read at all', async () => {
  const { request, readBytes } = endless({ 'content-length': '8388609' })
  await drainBody(request)
  expect(readBytes()).toBe(0)
})
