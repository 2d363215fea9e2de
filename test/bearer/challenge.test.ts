import { createBearerFetch } from 'agent-auth'
import { describe, expect, it } from 'vitest'
import { apiStub } from '../support/api-stub.ts'
import { leastMs } from '../support/least-ms.ts'
import { signedIn } from '../support/signed-in.ts'

const baseUrl = 'https://api.example.com'
type Challenge = string | readonly string[] | undefined

/** Whether a 401 with these `WWW-Authenticate` lines is taken as an expired token: renewed and sent once more. */
async function retried(challenge: Challenge): Promise<boolean> {
  const headers = new Headers()
  for (const line of [challenge ?? []].flat()) headers.append('www-authenticate', line)
  const api = apiStub((_, index) => new Response(null, index === 0 ? { status: 401, headers } : {}))
  const response = await createBearerFetch(alwaysNewer, { baseUrl, fetch: api.fetch })(baseUrl)
  expect({ status: response.status, callsCount: api.calls.length }).toEqual(
    api.calls.length === 2 ? { status: 200, callsCount: 2 } : { status: 401, callsCount: 1 },
  )
  return api.calls.length === 2
}

/** What is tested here is the parser: the source always has a newer token. */
const alwaysNewer = {
  getAccessToken: async ({ rejected }: { rejected?: string } = {}) => (rejected ? 'newer' : 'first'),
}

describe('the challenge table', () => {
  it.each<[what: string, challenge: Challenge]>([
    ['none', undefined],
    ['Basic with an error of its own', 'Basic realm="api", error="insufficient_scope"'],
    ['a scheme that begins like Bearer', 'BearerX error="insufficient_scope"'],
    ['an expired token', 'Bearer realm="api", error="invalid_token", error_description="The token expired"'],
    ['the word in a description', 'Bearer error="invalid_token", error_description="not insufficient_scope"'],
    ['the whole challenge in a quoted string', 'Basic realm="x, Bearer error=insufficient_scope"'],
    ['the same with quoted quotes', 'Basic realm="x\\", Bearer error=\\"insufficient_scope\\", y=\\""'],
    ['another parameter that ends in error', 'Bearer my_error="insufficient_scope"'],
    ['another parameter that begins with error', 'Bearer error_uri="insufficient_scope"'],
    ['a longer code', 'Bearer error="insufficient_scope_2"'],
    ['the code of another scheme behind Bearer', 'Bearer realm="a", DPoP error="insufficient_scope"'],
    ['no closing quote', 'Bearer realm="a, error="insufficient_scope"'],
  ])('an expired token: %s', async (_, challenge) => {
    expect(await retried(challenge)).toBe(true)
  })

  it.each<[what: string, challenge: Challenge]>([
    ['quoted', 'Bearer error="insufficient_scope"'],
    ['a token', 'Bearer error=insufficient_scope'],
    ['invalid_request', 'Bearer error="invalid_request"'],
    ['any case of scheme and name', 'bEARER ERROR="insufficient_scope"'],
    ['spaces around the equals sign', 'Bearer error = "insufficient_scope"'],
    ['empty list elements', ',, ,Bearer , ,realm="a",,error="insufficient_scope",'],
    ['quoted pairs', 'Bearer error="insufficient\\_sco\\pe"'],
    ['behind a quoted string with commas and quotes', 'Bearer realm="a, b=\\"c\\", Basic", error="insufficient_scope"'],
    ['behind a padded token68', 'Negotiate YWJjZGVm/+==, Bearer error="insufficient_scope"'],
    ['a second header line', ['Basic realm="api"', 'Bearer error="insufficient_scope"']],
    ['a second Bearer challenge', 'Bearer realm="a", Bearer realm="b", error="insufficient_scope"'],
  ])('a newer token would not help: %s', async (_, challenge) => {
    expect(await retried(challenge)).toBe(false)
  })

  it('no refresh follows such a challenge: the 401 comes back as it was', async () => {
    const signed = await signedIn()
    const headers = { 'www-authenticate': 'Bearer error="insufficient_scope"' }
    const api = apiStub(() => new Response('the body', { status: 401, headers }))
    const response = await createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })(baseUrl)
    expect({ status: response.status, text: await response.text() }).toEqual({ status: 401, text: 'the body' })
    expect({ refreshes: signed.refreshes, callsCount: api.calls.length }).toEqual({ refreshes: 0, callsCount: 1 })
  })

  it('a 401 whose challenge CORS hides counts as an expired token', async () => {
    // The page sees a response without the header, whatever the server sent.
    const signed = await signedIn()
    const api = apiStub((_, index) => new Response(null, { status: index === 0 ? 401 : 200 }))
    const response = await createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })(baseUrl)
    expect({ status: response.status, refreshes: signed.refreshes }).toEqual({ status: 200, refreshes: 1 })
  })
})

describe('size and time', () => {
  const refusal = 'Bearer error="insufficient_scope"'

  it('what stands beyond 8 KiB is not read', async () => {
    const room = 8_192 - `Basic realm="", ${refusal}`.length
    expect(await retried(`Basic realm="${'a'.repeat(room)}", ${refusal}`)).toBe(false)
    expect(await retried(`Basic realm="${'a'.repeat(room + 1)}", ${refusal}`)).toBe(true)
    expect(await retried(`${'Basic realm="a", '.repeat(6_000)}${refusal}`)).toBe(true)
  })

  it.each<[what: string, unit: string]>([
    ['spaces', ' '],
    ['token68', 'a/+.~'],
    ['equals signs', '='],
    ['open quotes', 'Bearer a="'],
    ['parameters without commas', 'a=b '],
    ['one endless quoted string', '\\"\\\\'],
  ])('100 KB of %s, and 8 KiB of them, take less than 50 ms', async (_, unit) => {
    for (const size of [100_000, 8_192]) {
      for (const start of ['', 'Bearer ', 'Bearer x="']) {
        const challenge = `${(start + unit.repeat(size)).slice(0, size - 1)}~`
        expect(await leastMs(() => retried(challenge))).toBeLessThan(50)
      }
    }
  })
})
