import { expect, test } from 'vitest'
import { originOf } from '../../src/bearer/targets.ts'

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
