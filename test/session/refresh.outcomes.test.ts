import { describe, expect, test } from 'vitest'
import { secret } from '../support/canary.ts'
import { expired } from '../support/expired-session.ts'
import { refusingOrigin } from '../support/free-port.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { json } from '../support/token-service.ts'

const hour = 3_600_000

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
  ['429 invalid_grant', error(429, 'invalid_grant'), 'temporarily_unavailable', 4],
  ['503 invalid_grant', error(503, 'invalid_grant'), 'temporarily_unavailable', 4],
  ['500 invalid_grant', error(500, 'invalid_grant'), 'temporarily_unavailable', 3],
  ['200 html', html(200), 'temporarily_unavailable', 4],
  ['400 half JSON', plain(400, '{"error":"inv'), 'temporarily_unavailable', 4],
  ['200 half JSON', plain(200, '{"access_to'), 'response_invalid', 3],
  ['200 too large', plain(200, `"${'x'.repeat(262_144)}"`), 'response_too_large', 3],
  ['200 invalid_client', error(200, 'invalid_client'), 'client_rejected', 1],
  ['307', plain(307), 'config_invalid', 1],
  ['401 invalid_client', error(401, 'invalid_client'), 'client_rejected', 1],
  ['404', body(404, {}), 'config_invalid', 1],
]

const ended: readonly Row[] = [
  ['400 invalid_grant', error(400, 'invalid_grant'), 'session_ended', 1],
  ['400 invalid_request', error(400, 'invalid_request'), 'session_ended', 1],
  ['400 without an error', body(400, {}), 'session_ended', 1],
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
})

describe('while the access token is good', () => {
  const failures: readonly (readonly [string, Parameters<ReturnType<typeof sessionRig>['service']['usually']>[0]])[] = [
    ['500', plain(500)],
    ['429 for a minute', plain(429, null, { 'retry-after': '60' })],
    ['a lost answer', 'lose'],
    ['no network', 'unreachable'],
    ['no answer', 'hang'],
    ['a captive portal', html(200)],
    ['a refused client', error(401, 'invalid_client')],
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
