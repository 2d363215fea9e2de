import { createServer } from 'node:net'
import { HttpResponse, http, passthrough } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { AuthEvent } from '../../src/events.ts'
import { exchangeCode } from '../../src/exchange.ts'
import { refreshTokens } from '../../src/token-endpoint.ts'
import { assertNoLeak, secret } from '../support/canary.ts'
import { testClock } from '../support/clock.ts'
import { listen } from '../support/listen.ts'
import { configWith, failure, grantFor, tokensWith, tokenUrl } from '../support/token-flow.ts'

const server = setupServer()
beforeAll(() => server.listen({ onUnhandledRequest: 'error' }))
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

/** Null sends no Content-Type. */
type Answer = [status: number, type: string | null, body: unknown]

function answerWith([status, type, body]: Answer, headers: Record<string, string> = {}): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const empty = status === 204 || status === 205 || status === 304
  server.use(
    http.post(tokenUrl, () => {
      const response = new HttpResponse(empty ? null : new TextEncoder().encode(text), { status, headers })
      if (type === null) response.headers.delete('content-type')
      else response.headers.set('content-type', type)
      return response
    }),
  )
}

type Verdict = readonly [outcome: string, code: string, retryable: boolean]
interface Verdicts {
  readonly exchange: Verdict
  readonly refresh: Verdict
}

/** A code is spent once it was sent, so only a refresh is ever worth repeating. */
const repeatable = (outcome: Verdict[0], code: Verdict[1]): Verdicts => {
  return { exchange: [outcome, 'exchange_interrupted', false], refresh: [outcome, code, true] }
}
const busy = repeatable('busy', 'temporarily_unavailable')
const broken = repeatable('ambiguous', 'temporarily_unavailable')
const unusable = repeatable('ambiguous', 'response_invalid')
const foreign = repeatable('foreign', 'temporarily_unavailable')
const both = (verdict: Verdict): Verdicts => ({ exchange: verdict, refresh: verdict })
const terminal = both(['terminal', 'grant_rejected', false])
const client = both(['config', 'client_rejected', false])
const address = both(['config', 'config_invalid', false])

const json = 'application/json'
const html = 'text/html; charset=utf-8'
const page = '<html><h1>Sign in to the network</h1></html>'
const detail = { detail: [{ loc: ['body', 'refresh_token'], msg: 'invalid_grant: Field required', type: 'missing' }] }
const envelope = { success: false, data: {}, error_type: 'invalid_grant', error_message: 'The token has expired' }

const outcomes: [statuses: number | number[], type: string | null, body: unknown, Verdicts][] = [
  // The token and the code are refused.
  [[200, 400, 401, 403], json, { error: 'invalid_grant' }, terminal],
  [400, json, { error: 'invalid_grant', error_description: 'server_error, please retry' }, terminal],
  [400, 'application/json;charset=UTF-8', { error: 'invalid_grant' }, terminal],
  [400, null, { error: 'invalid_grant' }, terminal],
  [[400, 401], json, {}, terminal],
  [400, json, { error: null }, terminal],
  [400, json, { error: '' }, terminal],
  [400, json, { error: 7 }, terminal],
  [400, json, { error: { code: 'server_error' } }, terminal],
  [400, json, { error: 'Unknown refresh token' }, terminal],
  [400, json, { message: 'server_error' }, terminal],
  [400, json, detail, terminal],
  [401, json, envelope, terminal],
  [401, json, { message: 'invalid authentication credentials' }, terminal],
  [400, json, { error: 'invalid_request' }, { exchange: client.exchange, refresh: terminal.refresh }],
  // The client, or what it asks for, is refused.
  [[200, 400, 401], json, { error: 'invalid_client' }, client],
  [401, json, { error: 'invalid_request' }, client],
  [400, json, { error: 'unauthorized_client' }, client],
  [400, json, { error: 'unsupported_grant_type' }, client],
  [400, json, { error: 'invalid_scope' }, client],
  [403, json, { error: 'access_denied' }, client],
  [403, json, { message: 'OAuth client is not approved for this API' }, client],
  [[402, 403], json, {}, client],
  [403, json, envelope, client],
  [403, null, '', client],
  // The address is wrong, or what is sent there.
  [[404, 405, 415], json, {}, address],
  [404, json, { detail: 'Not Found' }, address],
  [422, json, detail, address],
  [[304, 404, 422], null, '', address],
  [399, json, { access_token: 'x' }, address],
  // Too much to do.
  [429, json, {}, busy],
  [[429, 503], html, page, busy],
  [[429, 503], json, { error: 'invalid_grant' }, busy],
  [[408, 503], null, '', busy],
  [400, json, { error: 'temporarily_unavailable' }, busy],
  [400, json, { error: 'server_error' }, busy],
  // Nobody knows what became of it.
  [[500, 501], json, {}, broken],
  [500, json, { error: 'invalid_grant' }, broken],
  [500, json, { error: 'invalid_client' }, broken],
  [[500, 502, 504], html, page, broken],
  [500, null, '', broken],
  [520, 'text/plain', 'error code: 520', broken],
  [599, json, { access_token: 'x' }, broken],
  [200, json, {}, unusable],
  [200, json, '', unusable],
  [[200, 204], null, '', unusable],
  [200, json, '{"access_token":"x"', unusable],
  [200, json, '[{"access_token":"x"}]', unusable],
  [200, json, '"access_token"', unusable],
  [200, json, 'null', unusable],
  [200, json, page, unusable],
  [200, json, envelope, unusable],
  [200, json, { error: { message: 'x' }, access_token: 'x' }, unusable],
  [202, json, { access_token: 'x' }, unusable],
  // It is not the service that answers.
  [[200, 201, 400, 401, 403, 404, 451], html, page, foreign],
  [200, 'text/plain', 'OK', foreign],
  [200, 'text/html', { access_token: 'x' }, foreign],
  [405, 'text/plain', 'Method Not Allowed', foreign],
  [400, 'text/html', { error: 'invalid_grant' }, foreign],
  [400, 'text/plain', 'invalid_grant', foreign],
  [400, json, page, foreign],
  [400, json, '[]', foreign],
  [401, json, '"invalid_grant"', foreign],
  [401, json, '', foreign],
]

const cases = outcomes.flatMap(([statuses, type, body, verdicts]) => {
  const shown = typeof body === 'string' ? body : JSON.stringify(body)
  return [statuses].flat().map((status) => {
    const answer: Answer = [status, type, body]
    return [`${status} ${type ?? 'no type'} ${shown.slice(0, 60)}`, { answer, verdicts }] as const
  })
})

describe('the outcome table', () => {
  const observed = () => {
    const events: AuthEvent[] = []
    return { events, config: configWith({ timeoutMs: 1_000, onEvent: (event) => events.push(event) }) }
  }
  const usable = /^[a-z_]+$/

  it.each(cases)('the response %s has its outcome for each grant', async (_, { answer, verdicts }) => {
    answerWith(answer)
    const [status, , body] = answer
    const sent = typeof body === 'object' && body !== null && 'error' in body ? body.error : undefined
    for (const grant of ['exchange', 'refresh'] as const) {
      const { events, config } = observed()
      const call =
        grant === 'exchange' ? exchangeCode(config, await grantFor(config)) : refreshTokens(config, tokensWith())
      const error = await failure(call)
      const [outcome, code, retryable] = verdicts[grant]
      expect(error, grant).toMatchObject({ code, retryable, details: { outcome } })
      expect(error.status).toBe(status)
      expect(error.message.length).toBeLessThanOrEqual(160)
      expect(error.cause).toBeUndefined()
      expect(events).toMatchObject([{ type: 'token_request', outcome, status, origin: 'https://auth.example.com' }])
      const named = error.details?.error
      if (named !== undefined) expect(named).toBe(sent)
      else if (outcome === 'terminal' || outcome === 'config') expect(String(sent ?? '')).not.toMatch(usable)
    }
  })

  it.each([
    [200, { access_token: 'x' }],
    [201, { access_token: 'x' }],
    [200, { access_token: 'x', error: null, error_description: null }],
    [200, { access_token: 'x', error: '' }],
  ])('%d %j is a success', async (status, body) => {
    answerWith([status, json, body])
    const { events, config } = observed()
    expect(await exchangeCode(config, await grantFor(config))).toMatchObject({ accessToken: 'x' })
    expect(await refreshTokens(config, tokensWith())).toMatchObject({ accessToken: 'x' })
    expect(events).toMatchObject([
      { grant: 'authorization_code', outcome: 'ok', status },
      { grant: 'refresh_token', outcome: 'ok', status },
    ])
  })

  it.each([
    { error: 'x', access_token: 'y' },
    { error: 'invalid_grant', access_token: 'y', refresh_token: 'z' },
    { error: 'x' },
    { error: true, access_token: 'y' },
    { error: ['x'], access_token: 'y' },
    { error: 'Something Else', access_token: 'y' },
  ])('200 %j is an error', async (body) => {
    answerWith([200, json, body])
    const { events, config } = observed()
    await failure(refreshTokens(config, tokensWith()))
    await failure(exchangeCode(config, await grantFor(config)))
    expect(events.map((event) => event.type === 'token_request' && event.outcome)).not.toContain('ok')
  })

  it('an error code that is text of another kind is not repeated, since it may be an echo', async () => {
    const echo = secret('echoed token')
    const codes = [echo, 'UPPER', 'rate-limit', 'too_many_requests_429']
    for (const error of [...codes, `invalid token ${echo}`, 'a'.repeat(65), '<b>']) {
      answerWith([400, json, { error, error_description: echo, error_uri: echo, [echo]: echo }])
      const { config } = observed()
      const thrown = await failure(refreshTokens(config, tokensWith()))
      const known = codes.includes(error)
      expect(thrown.code).toBe(known ? 'client_rejected' : 'grant_rejected')
      expect(thrown.details).toEqual({ outcome: known ? 'config' : 'terminal' })
      assertNoLeak(thrown)
    }
  })
})

describe('Retry-After', () => {
  const clock = testClock(Date.UTC(2026, 0, 1))
  it.each<[string | undefined, number | undefined]>([
    ['0', 0],
    ['7', 7_000],
    ['300', 300_000],
    ['301', 300_000],
    ['99999999999999999999', 300_000],
    ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
    ['Wed, 31 Dec 2025 23:59:30 GMT', 0],
    ['Fri, 01 Jan 2027 00:00:00 GMT', 300_000],
    ...['soon', '-1', '1.5', '1e3', 'xx GMT', '2026-01-01', undefined].map((value): [typeof value, undefined] => [
      value,
      undefined,
    ]),
  ])('%j: %s ms', async (value, expected) => {
    answerWith([503, json, {}], value === undefined ? {} : { 'retry-after': value })
    const error = await failure(refreshTokens(configWith({ clock }), tokensWith()))
    expect(error.details).toEqual({ outcome: 'busy', ...(expected !== undefined && { retryAfterMs: expected }) })
  })
})

describe('the message of a refusal', () => {
  it.each(['something_new', 'constructor', 'a_text_that_could_be_a_token'])(
    'does not quote %s, which is not registered',
    async (error) => {
      answerWith([400, json, { error }])
      const refused = await failure(refreshTokens(configWith(), tokensWith()))
      expect(refused.message).toBe(
        'https://auth.example.com responded with 400. Developer: check clientId, clientSecret and basicEncoding.',
      )
      expect(refused.details?.error).toBe(error)
    },
  )
})

describe('the message of a request that did not reach a token endpoint', () => {
  it('a port on which nothing listens is named, with the options to check', async () => {
    const closed = createServer()
    const port = await listen(closed)
    await new Promise((resolve) => closed.close(resolve))
    const authUrl = `http://127.0.0.1:${port}`
    server.use(http.post(`${authUrl}/auth/v1/token`, () => passthrough()))
    const { message, details } = await failure(refreshTokens(configWith({ authUrl }), tokensWith()))
    expect(message).toBe(`${authUrl} was not reached. Developer: check authUrl and tokenEndpoint. Try again.`)
    expect(details).toEqual({ outcome: 'not_sent' })
  })

  it('a page is told of CORS and its CSP as well', async () => {
    server.use(http.post(tokenUrl, () => HttpResponse.error()))
    vi.stubGlobal('document', {})
    const { message } = await failure(refreshTokens(configWith(), tokensWith())).finally(() => vi.unstubAllGlobals())
    expect(message).toMatch(/did not respond, or CORS or CSP refuses this page\. /)
  })
})
