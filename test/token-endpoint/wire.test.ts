import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readCallback } from '../../src/callback.ts'
import { type AuthConfigOptions, createAuthConfig } from '../../src/config.ts'
import { exchangeCode } from '../../src/exchange.ts'
import { refreshTokens } from '../../src/token-endpoint.ts'
import { respond, startWire, type Wire } from '../support/wire.ts'

let wire: Wire
beforeAll(async () => {
  wire = await startWire(respond(200, {}, { access_token: 'x' }))
})
afterAll(() => wire.close())

type Options = Partial<AuthConfigOptions>

const redirectUri = 'https://app.example/callback?from=service'
const codeVerifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const state = 'xyz-0123456789.abcdefghijklmn'

async function exchange(options: Options): Promise<string> {
  const config = configWith(options)
  const { clientId, tokenEndpoint } = config
  const pending = { v: 1, state, codeVerifier, clientId, redirectUri, tokenEndpoint, createdAtMs: Date.now() } as const
  const callback = `${redirectUri}&code=${encodeURIComponent('code 1/+&=é')}&state=${state}`
  await exchangeCode(config, readCallback({ ...pending, issuerParameter: 'optional' }, callback))
  return lastRequest()
}

async function refresh(options: Options): Promise<string> {
  await refreshTokens(configWith(options), { refreshToken: 'refresh "1"/+&=é' })
  return lastRequest()
}

function configWith(options: Options) {
  return createAuthConfig({ authUrl: wire.url, baseUrl: wire.url, clientId: 'app: 1', redirectUri, ...options })
}

/** What the platform adds to a request of a `fetch` with these settings. */
const ofPlatform =
  /^(host|connection|accept-language|accept-encoding|sec-fetch-mode|user-agent|pragma|cache-control|content-length)$/

/** The last request, with the header lines that the library sets, in their order, and every byte of the body. */
function lastRequest(): string {
  const { method, target, headers, bytes } = wire.requests.at(-1) as Wire['requests'][number]
  const lines = headers.filter(([name]) => !ofPlatform.test(name)).map((header) => header.join(': '))
  const body = bytes.subarray(bytes.indexOf('\r\n\r\n') + 4).toString('latin1')
  return [`${method} ${target}`, ...lines, '', body].join('\n')
}

const inQuery = '/auth/v1/token?grant_type='
const form = 'application/x-www-form-urlencoded'
const code =
  'redirect_uri=https%3A%2F%2Fapp.example%2Fcallback%3Ffrom%3Dservice&code=code+1%2F%2B%26%3D%C3%A9' +
  `&code_verifier=${codeVerifier}`
const standardToken = 'refresh_token=refresh+%221%22%2F%2B%26%3D%C3%A9&grant_type=refresh_token'
// The bytes of UTF-8, each as one character.
const serviceToken = '"refresh_token":"refresh \\"1\\"/+&=Ã©"'
const formId = `Basic ${btoa('app%3A%201:s%3A%20%25%2B%C3%A9')}`
const rawId = `Basic ${btoa('app: 1:s: %+Ã©')}`

const confidential: Options = { clientSecret: 's: %+é' }
const raw: Options = { ...confidential, basicEncoding: 'raw' }
const standard: Options = { dialect: 'standard' }

function request(target: string, type: string, authorization: string | undefined, body: string): string {
  const credentials = authorization ? [`authorization: ${authorization}`] : []
  return [`POST ${target}`, 'accept: application/json', `content-type: ${type}`, ...credentials, '', body].join('\n')
}

describe('a code goes to the token endpoint', () => {
  it.each<[string, Options, string]>([
    [
      'of the service, from a public client',
      {},
      request(`${inQuery}authorization_code`, form, undefined, `${code}&client_id=app%3A+1`),
    ],
    [
      'of the service, from a confidential client',
      confidential,
      request(`${inQuery}authorization_code`, form, formId, code),
    ],
    [
      'of the service, from a confidential client without encoding',
      raw,
      request(`${inQuery}authorization_code`, form, rawId, code),
    ],
    [
      'of another server, from a public client',
      standard,
      request('/auth/v1/token', form, undefined, `${code}&grant_type=authorization_code&client_id=app%3A+1`),
    ],
    [
      'of another server, from a confidential client',
      { ...standard, ...confidential },
      request('/auth/v1/token', form, formId, `${code}&grant_type=authorization_code`),
    ],
    [
      'of another server, from a confidential client without encoding',
      { ...standard, ...raw },
      request('/auth/v1/token', form, rawId, `${code}&grant_type=authorization_code`),
    ],
  ])('%s, in these bytes', async (_, options, expected) => {
    expect(await exchange(options)).toBe(expected)
  })
})

describe('a refresh token goes to the token endpoint', () => {
  const json = 'application/json'
  it.each<[string, Options, string]>([
    [
      'of the service, from a public client',
      {},
      request(`${inQuery}refresh_token`, json, undefined, `{${serviceToken},"client_id":"app: 1"}`),
    ],
    [
      'of the service, from a confidential client',
      confidential,
      request(`${inQuery}refresh_token`, json, formId, `{${serviceToken}}`),
    ],
    [
      'of the service, from a confidential client without encoding',
      raw,
      request(`${inQuery}refresh_token`, json, rawId, `{${serviceToken}}`),
    ],
    [
      'of another server, from a public client',
      standard,
      request('/auth/v1/token', form, undefined, `${standardToken}&client_id=app%3A+1`),
    ],
    [
      'of another server, from a confidential client',
      { ...standard, ...confidential },
      request('/auth/v1/token', form, formId, standardToken),
    ],
    [
      'of another server, from a confidential client without encoding',
      { ...standard, ...raw },
      request('/auth/v1/token', form, rawId, standardToken),
    ],
  ])('%s, in these bytes', async (_, options, expected) => {
    expect(await refresh(options)).toBe(expected)
  })
})

it('a token request has the headers of the platform and none of a package', async () => {
  await fetch(wire.url, { method: 'POST', body: 'x', cache: 'no-store' })
  const ofPlatformAlone = wire.requests.at(-1)
  await refresh({})
  const ofLibrary = wire.requests.at(-1)
  const names = (request: typeof ofLibrary) => request?.headers.map(([name]) => name).filter((n) => ofPlatform.test(n))
  expect(names(ofLibrary)).toEqual(names(ofPlatformAlone))
  for (const name of ['user-agent', 'cache-control', 'accept-language'])
    expect(ofLibrary?.header(name)).toBe(ofPlatformAlone?.header(name))
})
