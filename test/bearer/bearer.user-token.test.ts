import { createBearerFetch } from 'agent-auth'
import { afterEach, describe, expect, it } from 'vitest'
import { apiStub } from '../support/api-stub.ts'
import { assertNoLeak, secret } from '../support/canary.ts'
import { respond, startWire, type Wire } from '../support/wire.ts'

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

  it('a stream goes out once, whole, and its 401 comes back', async () => {
    const api = apiStub(async ({ init }) => new Response(await new Response(init?.body).text(), { status: 401 }))
    const body = new Blob(['some ', 'text']).stream()
    const init = { method: 'POST', body, duplex: 'half' } as RequestInit
    const response = await createBearerFetch('token', { baseUrl, fetch: api.fetch })(url, init)
    expect({ status: response.status, text: await response.text(), callsCount: api.calls.length }).toEqual({
      status: 401,
      text: 'some text',
      callsCount: 1,
    })
  })
})

describe('what cannot stand in a header', () => {
  it.each<[what: string, token: string]>([
    ['CR LF and a header', `${secret('token')}\r\nx-injected: 1`],
    ['LF', `${secret('token')}\n`],
    ['CR', `\r${secret('token')}`],
    ['NUL', `${secret('token')}\0`],
    ['a space', `${secret('token')} ${secret('token')}`],
    ['a tab', `${secret('token')}\t`],
    ['a non-ASCII letter', `${secret('token')}\u00e9`],
    ['an emoji', `${secret('token')}\u{1F511}`],
    ['DEL', `${secret('token')}\u007f`],
    ['more than 16 KiB', secret('token').padEnd(16_385, 'a')],
    ['the scheme in front', `Bearer ${secret('token')}`],
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

describe('on a real wire', () => {
  let wire: Wire

  afterEach(() => wire.close())

  it('stands once in the head, in its own header, and nowhere else', async () => {
    const token = secret('user session token')
    wire = await startWire(respond(200, {}, { success: true, data: {} }))
    const response = await createBearerFetch(token, { baseUrl: wire.url })(`${wire.url}/api/llm_models/search?x=1`, {
      method: 'POST',
      body: '{"limit":1}',
    })
    expect(await response.json()).toEqual({ success: true, data: {} })
    const [request] = wire.requests
    expect(request?.header('authorization')).toBe(`Bearer ${token}`)
    assertNoLeak(request?.bytes.toString('latin1').replace(`Bearer ${token}`, ''), 'the rest of the request')
  })
})
