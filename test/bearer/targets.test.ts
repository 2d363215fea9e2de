import { afterEach, describe, expect, it, test, vi } from 'vitest'
import { allowedTargets, originOf } from '../../src/bearer/targets.ts'

afterEach(() => vi.unstubAllGlobals())

test.each<[string, RequestInfo | URL, string]>([
  ['text', 'https://api.example.com/v1?q=http', 'https://api.example.com'],
  ['a URL', new URL('http://127.0.0.1:8080/v1'), 'http://127.0.0.1:8080'],
  ['a Request', new Request('https://api.example.com/v1'), 'https://api.example.com'],
])('the origin of %s without the token is that of its host', (_, input, origin) => {
  expect(originOf(input)).toBe(origin)
})

test.each<[string, unknown]>([
  ['an address without a host', 'data:text/plain,http'],
  ['another scheme', 'ftp://example.com/http'],
  ['text that is no URL', 'http'],
  ['what no URL can be read of', Object.create(null)],
])('there is none of %s', (_, input) => {
  expect(originOf(input as string)).toBeUndefined()
})

test.each<[string, Parameters<typeof allowedTargets>[0], string]>([
  [
    'one origin of several that has a path',
    { origins: ['https://a.example', 'https://b.example/v1'] },
    'origins must have no path',
  ],
  ['an origin that is no https URL', { origins: ['http://a.example'] }, 'origins'],
  ['a base URL that is no https URL', { baseUrl: 'http://a.example' }, 'baseUrl'],
  ['an empty list of origins', { origins: [] }, 'baseUrl or origins is missing'],
])('%s is refused by a message that names the option', (_, options, named) => {
  expect(() => allowedTargets(options)).toThrow(
    expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(named) }),
  )
})

test('the slashes at the end of a base URL allow the same paths as none', () => {
  const target = allowedTargets({ baseUrl: 'https://api.example.com/v1//' })
  expect(target('https://api.example.com/v1/agents')).toBe('https://api.example.com/v1/agents')
  expect(target('agents')).toBe('https://api.example.com/v1/agents')
  expect(target('https://api.example.com/v10')).toBeUndefined()
})

test.each([
  ['four times is allowed', '%25252541', 'https://api.example.com/v1/%25252541'],
  ['five times is refused, because what a server would make of it is unknown', '%2525252541', undefined],
])('a path that is encoded %s', (_, path, allowed) => {
  expect(allowedTargets({ baseUrl: 'https://api.example.com/v1' })(path)).toBe(allowed)
})

test('a relative URL that would hold /api twice is refused only at its beginning', () => {
  const target = allowedTargets({ baseUrl: 'https://example.com/api' })
  expect(() => target('api/agents')).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  expect(target('agents/api/')).toBe('https://example.com/api/agents/api/')
})

describe('the memory of judged URLs', () => {
  const baseUrl = 'https://api.example.com/v1'

  /** Returns a function that judges a path under the base URL, and tells how many URLs were parsed for it. */
  function countedJudge(): (path: string) => { parses: number; url: unknown } {
    let parsed = 0
    const Native = URL
    vi.stubGlobal(
      'URL',
      class extends Native {
        constructor(...of: ConstructorParameters<typeof Native>) {
          super(...of)
          parsed += 1
        }
      },
    )
    const target = allowedTargets({ baseUrl })
    return (path) => {
      const before = parsed
      return { url: target(`${baseUrl}/${path}`), parses: parsed - before }
    }
  }

  it.each([
    ['that may get the token', 'agents', `${baseUrl}/agents`],
    ['that may not get it', '../beside', undefined],
  ])('holds a URL %s', (_, path, url) => {
    const judge = countedJudge()
    expect({ first: judge(path), second: judge(path) }).toEqual({
      first: { parses: 1, url },
      second: { parses: 0, url },
    })
  })

  it('holds 64 URLs, and drops the first for the next one', () => {
    const judge = countedJudge()
    judge('first')
    for (let index = 0; index < 63; index++) judge(String(index))
    const beside63 = judge('first').parses
    judge('one more')
    expect({ beside63, beside64: judge('first').parses }).toEqual({ beside63: 0, beside64: 1 })
  })

  it('holds no URL of more than 2,048 characters, so that its size has a bound', () => {
    const judge = countedJudge()
    const longest = 'a'.repeat(2_048 - `${baseUrl}/`.length)
    const paths = [longest, longest, `${longest}a`, `${longest}a`]
    expect(paths.map((path) => judge(path).parses)).toEqual([1, 0, 1, 1])
  })
})
