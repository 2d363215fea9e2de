import { refreshTokens } from 'agent-auth'
import { expect, test } from 'vitest'
import { readTextAtMost } from '../../src/token-endpoint/response.ts'
import { setUp, tokens } from '../support/one-session.ts'

test('chunks without a byte do not hold the process', async () => {
  const body = (): ReadableStream<Uint8Array> =>
    new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(0)) })
  const answer = (): Response => new Response(body(), { headers: { 'content-type': 'application/json' } })
  const { config } = setUp({ answer })
  await expect(refreshTokens(config, tokens())).rejects.toMatchObject({ code: 'response_too_large' })
})

test('a chunk without a byte counts as one byte', async () => {
  const chunks = ['ab', '', ''].map((text) => new TextEncoder().encode(text))
  const start = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    for (const chunk of chunks) controller.enqueue(chunk)
    controller.close()
  }
  const body = (): Response => new Response(new ReadableStream({ start }))
  expect({ four: await readTextAtMost(body(), 4), three: await readTextAtMost(body(), 3) }).toEqual({
    four: 'ab',
    three: undefined,
  })
})
