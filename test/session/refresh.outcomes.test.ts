import { describe, expect, test } from 'vitest'
import { secret } from '../support/canary.ts'
import { refusingOrigin } from '../support/free-port.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { json } from '../support/token-service.ts'
import { flush, virtualTime } from '../support/virtual-time.ts'

const hour = 3_600_000

/** A session that holds an expired token over a shared record, on virtual time. */
async function expired(lifeMs = hour) {
  const time = virtualTime()
  const { service, realm } = sessionRig(time.clock, { reuse: 'grace' })
  const records = sharedRecords()
  const here = realm({ storage: records.handle() })
  const tokens = service.issue()
  await here.session.signIn(tokens)
  await time.pass(lifeMs)
  return { time, service, realm, records, tokens, ...here }
}

const html = (status: number) => () =>
  new Response(`<html>${secret('page')}</html>`, { status, headers: { 'content-type': 'text/html' } })
/** Without a body there is no content type either. */
const plain = (status: number, text: string | null = null, headers: Record<string, string> = {}) => {
  return () =>
    new Response(text, {
      status,
      headers: text === null ? headers : { 'content-type': 'application/json', ...headers },
    })
}
const error = (status: number, code: unknown) => () => json(status, { error: code })
const body = (status: number, value: unknown) => () => json(status, value)

type Row = readonly [what: string, answer: () => Response, code: string, requests: number]

// Requests: what one call with an expired token sends within its own time.
const alive: readonly Row[] = [
  ['429', plain(429), 'temporarily_unavailable', 4],
  ['429 invalid_grant', error(429, 'invalid_grant'), 'temporarily_unavailable', 4],
  ['408', plain(408), 'temporarily_unavailable', 4],
  ['503', plain(503), 'temporarily_unavailable', 4],
  ['503 html', html(503), 'temporarily_unavailable', 4],
  ['503 invalid_grant', error(503, 'invalid_grant'), 'temporarily_unavailable', 4],
  ['400 temporarily_unavailable', error(400, 'temporarily_unavailable'), 'temporarily_unavailable', 4],
  ['400 server_error', error(400, 'server_error'), 'temporarily_unavailable', 4],
  ['500', plain(500), 'temporarily_unavailable', 3],
  ['500 json', body(500, { message: 'broken' }), 'temporarily_unavailable', 3],
  ['500 invalid_grant', error(500, 'invalid_grant'), 'temporarily_unavailable', 3],
  ['501', plain(501), 'temporarily_unavailable', 3],
  ['502 html', html(502), 'temporarily_unavailable', 3],
  ['504 html', html(504), 'temporarily_unavailable', 3],
  ['520', plain(520), 'temporarily_unavailable', 3],
  ['599', plain(599), 'temporarily_unavailable', 3],
  ['200 html', html(200), 'temporarily_unavailable', 4],
  ['201 html', html(201), 'temporarily_unavailable', 4],
  ['400 html', html(400), 'temporarily_unavailable', 4],
  ['401 html', html(401), 'temporarily_unavailable', 4],
  ['403 html', html(403), 'temporarily_unavailable', 4],
  ['400 empty', plain(400), 'temporarily_unavailable', 4],
  ['400 half JSON', plain(400, '{"error":"inv'), 'temporarily_unavailable', 4],
  ['200 empty', plain(200), 'response_invalid', 3],
  ['200 half JSON', plain(200, '{"access_to'), 'response_invalid', 3],
  ['200 array', body(200, [{ access_token: 'x' }]), 'response_invalid', 3],
  ['200 null', body(200, null), 'response_invalid', 3],
  ['200 text', body(200, 'ok'), 'response_invalid', 3],
  ['200 no access_token', body(200, { refresh_token: 'x' }), 'response_invalid', 3],
  ['200 empty access_token', body(200, { access_token: '' }), 'response_invalid', 3],
  ['200 access_token with a line break', body(200, { access_token: 'a\r\nb' }), 'response_invalid', 3],
  ['200 access_token as number', body(200, { access_token: 5 }), 'response_invalid', 3],
  ['200 token_type mac', body(200, { access_token: 'x', token_type: 'mac' }), 'response_invalid', 3],
  ['200 __proto__', plain(200, '{"__proto__":{"access_token":"x"}}'), 'response_invalid', 3],
  ['200 too large', plain(200, `"${'x'.repeat(262_144)}"`), 'response_too_large', 3],
  ['200 invalid_client', error(200, 'invalid_client'), 'client_rejected', 1],
  ['301', plain(301, null, { location: 'https://elsewhere.example.com' }), 'config_invalid', 1],
  ['302', plain(302, null, { location: '/login' }), 'config_invalid', 1],
  ['303', plain(303), 'config_invalid', 1],
  ['307', plain(307), 'config_invalid', 1],
  ['308', plain(308), 'config_invalid', 1],
  ['400 invalid_client', error(400, 'invalid_client'), 'client_rejected', 1],
  ['401 invalid_client', error(401, 'invalid_client'), 'client_rejected', 1],
  ['400 unauthorized_client', error(400, 'unauthorized_client'), 'client_rejected', 1],
  ['400 unsupported_grant_type', error(400, 'unsupported_grant_type'), 'client_rejected', 1],
  ['400 invalid_scope', error(400, 'invalid_scope'), 'client_rejected', 1],
  ['400 an error of its own', error(400, 'something_else'), 'client_rejected', 1],
  ['401 invalid_request', error(401, 'invalid_request'), 'client_rejected', 1],
  ['403', body(403, {}), 'client_rejected', 1],
  ['403 JSON', body(403, { message: 'no' }), 'client_rejected', 1],
  ['404', body(404, {}), 'config_invalid', 1],
  ['405', body(405, {}), 'config_invalid', 1],
  ['415', body(415, {}), 'config_invalid', 1],
  ['422', body(422, { detail: [{ loc: ['body'], msg: 'bad', type: 'missing' }] }), 'config_invalid', 1],
]

const ended: readonly Row[] = [
  ['400 invalid_grant', error(400, 'invalid_grant'), 'session_ended', 1],
  ['401 invalid_grant', error(401, 'invalid_grant'), 'session_ended', 1],
  ['403 invalid_grant', error(403, 'invalid_grant'), 'session_ended', 1],
  ['400 invalid_request', error(400, 'invalid_request'), 'session_ended', 1],
  ['400 without an error', body(400, {}), 'session_ended', 1],
  ['401 without an error', body(401, { message: 'Unauthorized' }), 'session_ended', 1],
  ['400 with an error that is no code', error(400, ['invalid_grant']), 'session_ended', 1],
  ['400 with an error that is text', error(400, 'Token Expired!'), 'session_ended', 1],
  ['200 invalid_grant', error(200, 'invalid_grant'), 'session_ended', 1],
]

describe('the class of a failure', () => {
  test.each(alive)('%s: the session lives', async (_, answer, code, requests) => {
    const { time, service, session, records, tokens, eventsOf } = await expired()
    service.usually(answer)
    expect(await time.until(codeOf(session.getAccessToken()))).toBe(code)
    expect(service.sent).toEqual(Array(requests).fill(tokens.refreshToken))
    expect(session.state.status).toBe('signed-in')
    expect(records.record()).toMatchObject({ refreshToken: tokens.refreshToken, rev: 1 })
    expect(eventsOf('session_ended')).toEqual([])
    service.usually('ok')
    await time.pass(30_000)
    expect(service.familyOf(await session.getAccessToken())).toBe(1)
  })

  test.each(ended)('%s: the session ends once', async (_, answer, code, requests) => {
    const { time, service, session, records, told, eventsOf } = await expired()
    service.usually(answer)
    expect(await time.until(codeOf(session.getAccessToken()))).toBe(code)
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
    expect(service.sent).toHaveLength(requests)
    expect(session.state).toEqual({ status: 'signed-out', reason: 'refused' })
    expect(records.items.size).toBe(0)
    expect(eventsOf('session_ended')).toEqual([{ type: 'session_ended', reason: 'refused' }])
    expect(told).toEqual(['signed-in', 'signed-out refused'])
  })

  test('the error of an ended session carries the service’s own code', async () => {
    const { service, session } = await expired()
    service.usually(error(400, 'invalid_request'))
    await expect(session.getAccessToken()).rejects.toMatchObject({
      code: 'session_ended',
      retryable: false,
      status: 400,
      details: { error: 'invalid_request', outcome: 'terminal' },
    })
  })

  test('a gateway’s page: the error names the status and nothing of the page', async () => {
    const { time, service, session } = await expired()
    const page = secret('gateway page')
    service.usually(() => new Response(`<h1>${page}</h1>`, { status: 502, headers: { 'content-type': 'text/html' } }))
    const failure = await time.until(session.getAccessToken().catch((reason: unknown) => reason))
    expect(failure).toMatchObject({ code: 'temporarily_unavailable', status: 502, retryable: true })
    expect(String(failure)).not.toContain('<')
  })
})

describe('while the access token is good', () => {
  const failures: readonly (readonly [string, Parameters<ReturnType<typeof sessionRig>['service']['usually']>[0]])[] = [
    ['500', plain(500)],
    ['503', plain(503)],
    ['429 for a minute', plain(429, null, { 'retry-after': '60' })],
    ['a lost answer', 'lose'],
    ['no network', 'unreachable'],
    ['no answer', 'hang'],
    ['a captive portal', html(200)],
    ['a refused client', error(401, 'invalid_client')],
    ['a redirect', plain(307)],
  ]

  test.each(failures)('a refresh ahead of expiry that fails (%s) does not fail calls', async (_, answer) => {
    const { time, service, session, tokens, events } = await expired(hour - 30_000)
    service.usually(answer)
    const token = await time.until(session.getAccessToken())
    expect(token).toBe(tokens.accessToken)
    expect(service.sent.length).toBeGreaterThan(0)
    const sent = service.sent.length
    // Until the next slot nothing is sent and nothing waits.
    expect(await session.getAccessToken()).toBe(tokens.accessToken)
    expect(service.sent).toHaveLength(sent)
    expect(events.at(-1)).toMatchObject({ type: 'refresh_failed' })
    expect(session.state.status).toBe('signed-in')
  })

  test('a caller that asked for another token is told that there is none, and never given the refused one', async () => {
    const { time, service, session, tokens } = await expired(hour - 30_000)
    service.usually('unreachable')
    expect(await codeOf(session.getAccessToken({ rejected: tokens.accessToken }))).toBe('temporarily_unavailable')
    await time.pass(1_000)
    expect(await codeOf(session.getAccessToken({ forceRefresh: true }))).toBe('temporarily_unavailable')
    expect(service.sent).toHaveLength(2)
    expect(await session.getAccessToken()).toBe(tokens.accessToken)
  })

  test('a token that expires while its refresh is waited for is not handed out', async () => {
    const { time, service, session } = await expired(hour - 5_000)
    service.usually('hang')
    expect(await time.until(codeOf(session.getAccessToken()))).toBe('timeout')
    expect(session.state.status).toBe('signed-in')
  })

  test('a definite refusal ends the session even while the access token is good', async () => {
    const { service, session } = await expired(hour - 30_000)
    service.revoke(1)
    expect(await codeOf(session.getAccessToken())).toBe('session_ended')
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
  })

  test('an abort during such a refresh is the caller’s own', async () => {
    const { service, session } = await expired(hour - 30_000)
    const release = service.hold()
    const stop = new AbortController()
    const call = codeOf(session.getAccessToken({ signal: stop.signal }))
    await flush()
    stop.abort()
    expect(await call).toBe('aborted')
    release()
  })
})

describe('a dead refresh token', () => {
  test('is sent once: 50 calls over ten minutes and a restart make no other request', async () => {
    const { time, service, session, realm, records, eventsOf } = await expired()
    service.revoke(1)
    const codes: unknown[] = []
    for (let call = 0; call < 50; call++) {
      codes.push(await codeOf(session.getAccessToken()))
      await time.pass(12_000)
    }
    expect(codes.slice(0, 2)).toEqual(['session_ended', 'login_required'])
    expect(new Set(codes.slice(1)).size).toBe(1)
    const restarted = realm({ storage: records.handle() })
    expect(await codeOf(restarted.session.getAccessToken())).toBe('login_required')
    expect(service.sent).toHaveLength(1)
    expect(eventsOf('session_ended')).toEqual([{ type: 'session_ended', reason: 'refused' }])
    await session.signIn(service.issue())
    expect(service.familyOf(await session.getAccessToken())).toBe(2)
  })
})

describe('a service that is not there', () => {
  const nowhere: readonly (readonly [string, () => Promise<string>])[] = [
    ['a closed port', refusingOrigin],
    ['a name that does not resolve', async () => 'https://nowhere.invalid'],
  ]

  test.each(nowhere)('%s: typed, not retried by itself, and the session lives', async (_, url) => {
    const { clock, service, realm } = sessionRig()
    const { session, eventsOf } = realm({ options: { authUrl: await url(), fetch: undefined } })
    await session.signIn(service.issue())
    clock.advance(hour)
    await expect(session.getAccessToken()).rejects.toMatchObject({
      code: 'temporarily_unavailable',
      retryable: true,
      details: { outcome: 'not_sent' },
    })
    expect(eventsOf('token_request')).toMatchObject([{ grant: 'refresh_token', outcome: 'not_sent' }])
    expect(session.state.status).toBe('signed-in')
  })
})
