import { expect, test, vi } from 'vitest'
import { authorizeUrl } from '../support/login.ts'
import { createService } from '../support/start.ts'

test('a page is a text for the server, which would send anything else as a stream of its own', async () => {
  const service = await createService()
  const bodies: unknown[] = []
  class Watched extends Response {
    constructor(body?: BodyInit | null, init?: ResponseInit) {
      super(body, init)
      bodies.push(body)
    }
  }
  vi.stubGlobal('Response', Watched)
  try {
    const response = await service.fetch(authorizeUrl(service).url)
    expect({ status: response.status, contentType: response.headers.get('content-type') }).toEqual({
      status: 200,
      contentType: 'text/html; charset=UTF-8',
    })
    expect(bodies.map((body) => typeof body)).toEqual(['string'])
  } finally {
    vi.unstubAllGlobals()
    await service.close()
  }
})
