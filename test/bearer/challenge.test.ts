import { createBearerFetch } from 'agent-auth'
import fc from 'fast-check'
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
    ['empty', ''],
    ['only commas', ', ,,'],
    ['Basic only', 'Basic realm="api"'],
    ['Basic with an error of its own', 'Basic realm="api", error="insufficient_scope"'],
    ['a scheme that begins like Bearer', 'BearerX error="insufficient_scope"'],
    ['a scheme that ends like Bearer', 'XBearer error="insufficient_scope"'],
    ['Bearer alone', 'Bearer'],
    ['Bearer with a realm', 'Bearer realm="api"'],
    ['an expired token', 'Bearer realm="api", error="invalid_token", error_description="The token expired"'],
    ['the word in a description', 'Bearer error="invalid_token", error_description="not insufficient_scope"'],
    ['the word in a realm', 'Bearer realm="insufficient_scope"'],
    ['the whole challenge in a quoted string', 'Basic realm="x, Bearer error=insufficient_scope"'],
    ['the same with quoted quotes', 'Basic realm="x\\", Bearer error=\\"insufficient_scope\\", y=\\""'],
    ['a quoted backslash before the closing quote', 'Basic realm="x\\\\", a="Bearer error=insufficient_scope"'],
    ['another parameter that ends in error', 'Bearer my_error="insufficient_scope"'],
    ['another parameter that begins with error', 'Bearer error_uri="insufficient_scope"'],
    ['a longer code', 'Bearer error="insufficient_scope_2"'],
    ['a code in capitals', 'Bearer error="INSUFFICIENT_SCOPE"'],
    ['the code of another scheme behind Bearer', 'Bearer realm="a", DPoP error="insufficient_scope"'],
    ['the code of another scheme before Bearer', 'DPoP error="insufficient_scope", Bearer error="invalid_token"'],
    ['a token68 that spells it', 'Negotiate error==, Bearer error="invalid_token"'],
    ['no closing quote', 'Bearer realm="a, error="insufficient_scope"'],
    ['no value', 'Bearer error='],
    ['an equals sign alone', '= Bearer error="insufficient_scope"'],
    ['no scheme', 'error="insufficient_scope"'],
    ['something unreadable first', '\u00e9, Bearer error="insufficient_scope"'],
  ])('an expired token: %s', async (_, challenge) => {
    expect(await retried(challenge)).toBe(true)
  })

  it.each<[what: string, challenge: Challenge]>([
    ['quoted', 'Bearer error="insufficient_scope"'],
    ['a token', 'Bearer error=insufficient_scope'],
    ['invalid_request', 'Bearer error="invalid_request"'],
    ['behind a realm and before a scope', 'Bearer realm="api", error="insufficient_scope", scope="api.access"'],
    ['any case of scheme and name', 'bEARER ERROR="insufficient_scope"'],
    ['spaces around the equals sign', 'Bearer error = "insufficient_scope"'],
    ['tabs', 'Bearer\terror\t=\t"insufficient_scope"'],
    ['empty list elements', ',, ,Bearer , ,realm="a",,error="insufficient_scope",'],
    ['no space after the comma', 'Bearer realm="a",error="insufficient_scope"'],
    ['quoted pairs', 'Bearer error="insufficient\\_sco\\pe"'],
    ['behind a quoted string with commas and quotes', 'Bearer realm="a, b=\\"c\\", Basic", error="insufficient_scope"'],
    ['behind Basic', 'Basic realm="api", Bearer error="insufficient_scope"'],
    ['behind a token68', 'Negotiate YWJjZGVm, Bearer error="insufficient_scope"'],
    ['behind a padded token68', 'Negotiate YWJjZGVm/+==, Bearer error="insufficient_scope"'],
    ['behind a scheme without anything', 'Negotiate, Bearer error="insufficient_scope"'],
    ['behind a parameter with a very long name', `Basic ${'n'.repeat(200)}="x", Bearer error="insufficient_scope"`],
    ['before Basic', 'Bearer error="insufficient_scope", Basic realm="api"'],
    ['a second header line', ['Basic realm="api"', 'Bearer error="insufficient_scope"']],
    ['a first header line', ['Bearer error="insufficient_scope"', 'Basic realm="api"']],
    ['a second Bearer challenge', 'Bearer realm="a", Bearer realm="b", error="insufficient_scope"'],
    ['an empty string first', 'Bearer realm="", error="insufficient_scope"'],
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
    ['commas', ','],
    ['schemes', 'a '],
    ['scheme and spaces', `a${' '.repeat(50)}`],
    ['token68', 'a/+.~'],
    ['equals signs', '='],
    ['token68 and equals signs', 'a='],
    ['quotes', '"'],
    ['open quotes', 'Bearer a="'],
    ['backslashes', '\\'],
    ['quoted pairs', 'a="\\"'],
    ['parameters', 'a=b,'],
    ['parameters without commas', 'a=b '],
    ['one endless quoted string', '\\"\\\\'],
    ['Bearer and nothing', 'Bearer,'],
  ])('100 KB of %s, and 8 KiB of them, take less than 50 ms', async (_, unit) => {
    for (const size of [100_000, 8_192]) {
      for (const start of ['', 'Bearer ', 'Bearer x="']) {
        const challenge = `${(start + unit.repeat(size)).slice(0, size - 1)}~`
        expect(await leastMs(() => retried(challenge))).toBeLessThan(50)
      }
    }
  })
})

describe('any header', () => {
  const name = fc.stringMatching(/^[A-Za-z][\w!#$%&'*+.^`|~-]{0,9}$/)
  const codes = fc.constantFrom('insufficient_scope', 'invalid_request', 'invalid_token', 'other')
  const anyText = fc.string({ maxLength: 12, unit: fc.constantFrom(...'ab ,="\\é~/:Bearer error') })
  const parameter = fc.record({
    name: fc.oneof({ weight: 3, arbitrary: name }, fc.constantFrom('error', 'Error', 'ERROR')),
    value: fc.oneof(codes, anyText),
    equals: fc.constantFrom('=', ' =', '= ', ' = '),
    style: fc.constantFrom('quoted', 'escaped', 'token'),
  })
  const challenge = fc.record({
    scheme: fc.oneof(fc.constantFrom('Bearer', 'bearer', 'BEARER'), name),
    parameters: fc.array(parameter, { maxLength: 4 }),
    token68: fc.option(fc.stringMatching(/^[A-Za-z0-9._~+/-]{1,20}={0,2}$/), { nil: undefined, freq: 4 }),
  })
  const comma = fc.constantFrom(',', ', ', ' , ', ',, ', ' ,\t,')

  it('a header written by the grammar is read as it was meant', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(challenge, { minLength: 1, maxLength: 4 }), comma, async (challenges, separator) => {
        const text = challenges.map((one) => written(one, separator)).join(separator)
        const error = challenges.flatMap(errorsOf)[0]
        expect({ text, isRetried: await retried(text) }).toEqual({
          text,
          isRetried: error !== 'insufficient_scope' && error !== 'invalid_request',
        })
      }),
      { numRuns: 300 },
    )
  })

  it('any bytes at all: nothing is thrown, and only the two codes keep from a retry', async () => {
    const pieces = fc.constantFrom(
      ...[
        'Bearer',
        'bearer ',
        'error',
        '=',
        '"',
        '\\',
        ',',
        ' ',
        '\t',
        'insufficient_scope',
        'invalid_request',
        'Basic ',
        'a',
        '==',
        'é',
      ],
    )
    const bytes = fc.string({
      maxLength: 30,
      unit: fc.integer({ min: 1, max: 255 }).map((code) => String.fromCharCode(code)),
    })
    const text = fc.oneof(
      fc.array(pieces, { maxLength: 20 }).map((parts) => parts.join('')),
      bytes,
    )
    await fc.assert(
      fc.asyncProperty(text, async (value) => {
        fc.pre(!/[\r\n\0]/.test(value))
        const mayRefuse = /bearer/i.test(value) && /insufficient_scope|invalid_request/.test(value.replace(/\\/g, ''))
        if (!(await retried(value))) expect({ value, mayRefuse }).toEqual({ value, mayRefuse: true })
      }),
      { numRuns: 500 },
    )
  })

  interface Written {
    readonly scheme: string
    readonly parameters: readonly { name: string; value: string; equals: string; style: string }[]
    readonly token68: string | undefined
  }

  function written({ scheme, parameters, token68 }: Written, separator: string): string {
    if (token68 !== undefined) return `${scheme} ${token68}`
    const texts = parameters.map(({ name: key, value, equals, style }) => {
      if (style === 'token' && /^[\w-]+$/.test(value)) return key + equals + value
      const quoted = value.replace(/["\\]/g, '\\$&')
      return `${key}${equals}"${style === 'escaped' ? value.replace(/./g, '\\$&') : quoted}"`
    })
    return [scheme, texts.join(separator)].filter(Boolean).join(' ')
  }

  function errorsOf({ scheme, parameters, token68 }: Written): string[] {
    if (token68 !== undefined || scheme.toLowerCase() !== 'bearer') return []
    return parameters.filter(({ name: key }) => key.toLowerCase() === 'error').map(({ value }) => value)
  }
})
