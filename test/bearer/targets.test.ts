import { expect, test } from 'vitest'
import { allowedTargets, originOf } from '../../src/bearer/targets.ts'

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
  ['an encoded slash', 'a%2Fb', undefined],
  ['a dot that is encoded many times', '%2525252e%2525252e', undefined],
  ['an encoding whose digits are encoded', '%25%32%65%25%32%65', undefined],
  ['dots with parameters', '..;a=1/b', undefined],
  ['dots behind which a server may cut', '..%00/b', undefined],
  ['encoded text', '100%25%20%C3%A9', 'https://api.example.com/v1/100%25%20%C3%A9'],
  ['a name that begins with a dot', '.%C3%A9t', 'https://api.example.com/v1/.%C3%A9t'],
  ['an encoded slash in the query', 'a?b=%2F..%2F', 'https://api.example.com/v1/a?b=%2F..%2F'],
])('under a base path, %s decides whether the token goes along', (_, path, allowed) => {
  expect(allowedTargets({ baseUrl: 'https://api.example.com/v1' })(path)).toBe(allowed)
})
