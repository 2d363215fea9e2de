import { refreshTokens } from 'agent-auth'
import { expect, test } from 'vitest'
import { setUp, tokens } from '../support/one-session.ts'

test('chunks without a byte do not hold the process', async () => {
  const body = (): ReadableStream<Uint8Array> =>
    new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(0)) })
  const answer = (): Response => new Response(body(), { headers: { 'content-type': 'application/json' } })
  const { config } = setUp({ answer })
  await expect(refreshTokens(config, tokens())).rejects.toMatchObject({ code: 'response_too_large' })
})
