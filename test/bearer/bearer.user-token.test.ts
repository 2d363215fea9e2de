import { createBearerFetch } from 'agent-auth'
import { describe, expect, it } from 'vitest'
import { apiStub } from '../support/api-stub.ts'
import { assertNoLeak, secret } from '../support/canary.ts'

const baseUrl = 'https://api.example.com'
const url = `${baseUrl}/api/parent_agents`

describe('a user session token', () => {
  it('goes along under the base URL, and with nothing else', async () => {
    const token = secret('user session token')
    const api = apiStub(() => new Response())
    const call = createBearerFetch(token, { baseUrl, fetch: api.fetch })
    await call(url, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } })
    await call('https://elsewhere.example.net/')
    expect(api.calls.map(({ headers }) => [...headers])).toEqual([
      [
        ['authorization', `Bearer ${token}`],
        ['content-type', 'application/json'],
      ],
      [],
    ])
    assertNoLeak(api.calls.map((call) => call.url).join('\n'), 'the URLs')
  })

  it('gives way to the caller\u2019s own Authorization', async () => {
    const api = apiStub(() => new Response())
    await createBearerFetch('token', { baseUrl, fetch: api.fetch })(url, {
      headers: { Authorization: 'Basic b3duOm93bg==' },
    })
    expect(api.authorizations).toEqual(['Basic b3duOm93bg=='])
  })

  it.each([401, 403, 429, 503])(
    '%i comes back as it was, after one sending: nothing can renew this token',
    async (status) => {
      const answer = new Response('the body', {
        status,
        headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
      })
      const api = apiStub(() => answer)
      expect(await createBearerFetch('token', { baseUrl, fetch: api.fetch })(url, { method: 'POST', body: '{}' })).toBe(
        answer,
      )
      expect(await answer.text()).toBe('the body')
      expect(api.calls).toHaveLength(1)
    },
  )
})

describe('what cannot stand in a header', () => {
  it.each<[what: string, token: string]>([
    ['CR LF and a header', `${secret('token')}\r\nx-injected: 1`],
    ['NUL', `${secret('token')}\0`],
    ['a space', `${secret('token')} ${secret('token')}`],
    ['a non-ASCII letter', `${secret('token')}\u00e9`],
    ['DEL', `${secret('token')}\u007f`],
    ['more than 16 KiB', secret('token').padEnd(16_385, 'a')],
    ['nothing', ''],
  ])('%s: refused when the fetch is made, and not quoted', (_, token) => {
    let error: unknown
    try {
      createBearerFetch(token, { baseUrl })
    } catch (reason) {
      error = reason
    }
    expect(error).toMatchObject({ code: 'config_invalid', retryable: false })
    assertNoLeak(error, 'the refusal')
  })

  it('up to 16 KiB and any visible ASCII is taken', async () => {
    const api = apiStub(() => new Response())
    const visible = Array.from({ length: 94 }, (_, index) => String.fromCharCode(0x21 + index)).join('')
    for (const token of [visible, 'a'.repeat(16_384)]) {
      await createBearerFetch(token, { baseUrl, fetch: api.fetch })(url)
      expect(api.authorizations.at(-1)).toBe(`Bearer ${token}`)
    }
  })
})
