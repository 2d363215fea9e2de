import { createBearerFetch } from 'agent-auth'
import { describe, expect, test } from 'vitest'
import { baseUrl, setUp, tokens } from '../support/one-session.ts'

describe('the bearer fetch', () => {
  test('settings the caller uses again, changed, go out as they were at each call', async () => {
    const { session } = setUp()
    await session.signIn(tokens())
    const sent: unknown[] = []
    const call = createBearerFetch(session, {
      baseUrl,
      fetch: async (_input, init) => {
        sent.push(init?.body)
        return new Response()
      },
    })
    const init: RequestInit = { method: 'POST' }
    const calls = ['one', 'two', 'three'].map((body) => call(baseUrl, Object.assign(init, { body })))
    await Promise.all(calls)
    expect(sent).toEqual(['one', 'two', 'three'])
  })

  test('a Request that shows another URL than the one it goes to gets no token', async () => {
    const { session } = setUp()
    await session.signIn(tokens())
    class Disguised extends Request {
      override get url(): string {
        return `${baseUrl}/agents`
      }
    }
    const seen: (string | null)[] = []
    const call = createBearerFetch(session, {
      baseUrl,
      fetch: async (input, init) => {
        seen.push(new Request(input, init).headers.get('authorization'))
        return new Response()
      },
    })
    await call(new Disguised('https://evil.example.org/'))
    expect(seen).toEqual([null])
  })
})
