import { describe, expect, it } from 'vitest'
import { type PendingLogin, startLogin } from '../../src/authorize.ts'
import { readCallback } from '../../src/callback.ts'
import { exchangeCode } from '../../src/exchange.ts'
import { secret } from '../support/canary.ts'
import { testClock } from '../support/clock.ts'
import { callbackUrl, configWith, failure, json, redirectUri, scriptedFetch } from '../support/token-flow.ts'

const clock = testClock()
const at = { nowMs: clock.wallMs() }

async function begin(options: Parameters<typeof configWith>[0] = {}): Promise<PendingLogin> {
  return (await startLogin(configWith({ clock, ...options }), { returnTo: '/deep?link#here' })).pending
}

describe('what is read', () => {
  it('a good callback gives a grant, as text and as URL, absolute and relative', async () => {
    const pending = await begin()
    const url = callbackUrl(pending, { code: 'code-1' })
    for (const form of [url, new URL(url), url.slice(redirectUri.length), `/callback${url.slice(redirectUri.length)}`])
      expect(readCallback(pending, form, at).returnTo).toBe('/deep?link#here')
  })

  it.each([
    '#code=c&state=STATE',
    '#access_token=t',
    '#/route?code=c&state=STATE',
    '?code=c&state=STATE#access_token=t',
    '?state=STATE#code=c',
  ])('an answer in the fragment is refused: %s', async (tail) => {
    const pending = await begin()
    const url = `${redirectUri}${tail.replace('STATE', pending.state)}`
    expect(await failure(() => readCallback(pending, url, at))).toMatchObject({ code: 'callback_malformed' })
  })

  it.each(['#_=_', '#', '#/route', '#decode=1', '#section'])('another fragment is left alone: %s', async (hash) => {
    const pending = await begin()
    expect(readCallback(pending, callbackUrl(pending, { code: 'c' }) + hash, at)).toHaveProperty('returnTo')
  })

  const doubled = ['code', 'state', 'error', 'error_description', 'error_uri', 'iss'].flatMap((name) => [
    [name, 'the same value', (value: string) => `${name}=${value}`],
    [name, 'another value', () => `${name}=other`],
    [name, 'an empty value', () => `${name}=`],
    [name, 'an encoded name', (value: string) => `%${name.charCodeAt(0).toString(16)}${name.slice(1)}=${value}`],
  ]) as [string, string, (value: string) => string][]

  it.each(doubled)('a repeated %s is refused: %s', async (name, _, again) => {
    const pending = await begin()
    const values: Record<string, string> = {
      code: 'c',
      state: pending.state,
      error: 'server_error',
      error_description: 'x',
      error_uri: 'https://e.com',
      iss: 'https://auth.example.com',
    }
    const value = values[name] ?? ''
    const other = name.startsWith('error') ? '&error=server_error' : '&code=c'
    const base = `?state=${pending.state}${name === 'state' || other.startsWith(`&${name}=`) ? '' : `&${name}=${value}`}${other}`
    for (const query of [`${base}&${again(value)}`, `?${again(value)}&${base.slice(1)}`])
      expect(await failure(() => readCallback(pending, redirectUri + query, at))).toMatchObject({
        code: 'callback_malformed',
        retryable: false,
      })
  })

  it('empty values count as absent', async () => {
    const pending = await begin({ issuer: 'https://auth.example.com' })
    const read = (query: Record<string, string>) => () => readCallback(pending, callbackUrl(pending, query), at)
    expect(read({ code: 'c', error: '', error_description: '', iss: '' })()).toHaveProperty('returnTo')
    expect(await failure(read({ code: '' }))).toMatchObject({ code: 'callback_malformed' })
    const stateless = `${redirectUri}?code=c&state=`
    expect(await failure(() => readCallback(pending, stateless, at))).toMatchObject({ code: 'state_mismatch' })
  })
})

describe('whose callback it is', () => {
  it.each<[string, (state: string) => string | undefined]>([
    ['missing', () => undefined],
    ['another login’s', () => 'A'.repeat(43)],
    ['altered by one character', (state) => (state.startsWith('A') ? 'B' : 'A') + state.slice(1)],
    [
      'in another case',
      (state) => state.replace(/[a-z]/i, (c) => (c === c.toUpperCase() ? c.toLowerCase() : c.toUpperCase())),
    ],
    ['followed by a space', (state) => `${state} `],
    ['cut short', (state) => state.slice(0, -1)],
    ['encoded twice', (state) => encodeURIComponent(`${state}%00`)],
  ])('a state that is %s: state_mismatch, for a code and for an error', async (_, alter) => {
    const pending = await begin()
    const state = alter(pending.state)
    for (const query of [{ code: 'c' }, { error: 'access_denied' }, { code: 'c', error: 'access_denied' }]) {
      const url = `${redirectUri}?${new URLSearchParams({ ...query, ...(state !== undefined && { state }) })}`
      const error = await failure(() => readCallback(pending, url, at))
      expect(error).toMatchObject({ code: 'state_mismatch', retryable: false })
      // Nothing an attacker's link says is shown.
      expect(error.details).toBeUndefined()
    }
    expect(readCallback(pending, callbackUrl(pending, { code: 'c' }), at)).toHaveProperty('returnTo')
  })

  it.each([undefined, null, {}, { v: 2 }, { v: 1 }, { v: 1, state: '' }, { v: 1, state: 's' }])(
    'without a login on its way: flow_not_found (%j)',
    async (pending) => {
      const read = () => readCallback(pending as PendingLogin, `${redirectUri}?code=c&state=s`, at)
      expect(await failure(read)).toMatchObject({ code: 'flow_not_found' })
    },
  )

  it.each(['state', 'codeVerifier', 'clientId', 'tokenEndpoint', 'issuer'] as const)(
    'with a login whose %s is empty or no text: flow_not_found',
    async (member) => {
      const pending = await begin()
      for (const value of ['', 5, null]) {
        const read = () => readCallback({ ...pending, [member]: value }, callbackUrl(pending, { code: 'c' }), at)
        expect(await failure(read)).toMatchObject({ code: 'flow_not_found' })
      }
    },
  )

  it('a callback counts for ten minutes, not a second longer', async () => {
    const pending = await begin()
    const read = (afterMs: number) => () =>
      readCallback(pending, callbackUrl(pending, { code: 'c' }), { nowMs: at.nowMs + afterMs })
    expect(read(600_000)()).toHaveProperty('returnTo')
    expect(await failure(read(601_000))).toMatchObject({
      code: 'flow_expired',
      message: 'The login took too long. Start the login again.',
      details: { returnTo: pending.returnTo },
    })
  })

  it('without another clock, the platform’s counts', async () => {
    const old = { ...(await begin()), createdAtMs: Date.now() - 601_000 }
    const url = callbackUrl(old, { code: 'c' })
    expect(await failure(() => readCallback(old, url))).toMatchObject({ code: 'flow_expired' })
    expect(readCallback({ ...old, createdAtMs: Date.now() }, url)).toHaveProperty('returnTo')
  })

  it.each([
    'https://app.example.com/other',
    'https://app.example.com/callback/',
    'https://app.example.com//callback',
    'http://app.example.com/callback',
    'https://app.example.com:8443/callback',
    'https://app.example.com.e.com/callback',
    '//e.com/callback',
    'blob:https://app.example.com/callback',
    'javascript:/callback',
    'https://[',
  ])('the same parameters at %s are refused', async (place) => {
    const pending = await begin()
    const url = place + callbackUrl(pending, { code: secret('code') }).slice(redirectUri.length)
    expect(await failure(() => readCallback(pending, url, at))).toMatchObject({ code: 'callback_malformed' })
  })

  it.each([
    'https://app.example.com:443/callback',
    'HTTPS://APP.EXAMPLE.COM/callback',
    'https://app.example.com/x/../callback',
  ])('another spelling of the same place is accepted: %s', async (place) => {
    const pending = await begin()
    const url = place + callbackUrl(pending, { code: 'c' }).slice(redirectUri.length)
    expect(readCallback(pending, url, at)).toHaveProperty('returnTo')
  })

  const iss = 'https://auth.example.com'
  type Configured = { issuer?: string; issuerParameter?: 'required' }
  const configured: [string, Configured][] = [
    ['none', {}],
    ['optional', { issuer: iss }],
    ['required', { issuer: iss, issuerParameter: 'required' }],
  ]
  const sent: [string, string][] = [
    ['absent', ''],
    ['equal', `&iss=${iss}`],
    ['with a slash', `&iss=${iss}/`],
    ['another', '&iss=https://evil.example'],
    ['doubled', `&iss=${iss}&iss=${iss}`],
  ]
  const expected: Record<string, string[]> = {
    none: ['ok', 'ok', 'ok', 'ok', 'callback_malformed'],
    optional: ['ok', 'ok', 'issuer_mismatch', 'issuer_mismatch', 'callback_malformed'],
    required: ['issuer_mismatch', 'ok', 'issuer_mismatch', 'issuer_mismatch', 'callback_malformed'],
  }
  const matrix = configured.flatMap(([name, options]) =>
    sent.map(([kind, query], index) => [name, kind, options, query, expected[name]?.[index] ?? ''] as const),
  )

  it.each(matrix)(
    'with the issuer %s and the iss %s the callback is as the table says',
    async (_, _kind, options, query, result) => {
      const pending = await begin(options)
      for (const answer of [{ code: 'c' }, { error: 'access_denied' }]) {
        const read = () => readCallback(pending, callbackUrl(pending, answer) + query, at)
        if (result === 'ok' && 'code' in answer) expect(read()).toHaveProperty('returnTo')
        else expect(await failure(read)).toMatchObject({ code: result === 'ok' ? 'login_denied' : result })
        if (result === 'issuer_mismatch') expect(await failure(read)).toHaveProperty('details.returnTo')
      }
    },
  )

  it('the code of one configuration does not go to the token endpoint of another', async () => {
    const one = scriptedFetch(() => json({ access_token: 'x' }))
    const other = scriptedFetch(() => json({ access_token: 'x' }))
    const config = configWith({ clock, fetch: one.fetch })
    const { pending } = await startLogin(config)
    const grant = readCallback(pending, callbackUrl(pending, { code: secret('code') }), at)
    for (const change of [
      { authUrl: 'https://other.example' },
      { tokenEndpoint: 'https://other.example/token' },
      { clientId: 'other' },
    ]) {
      const swapped = configWith({ clock, fetch: other.fetch, ...change })
      expect(await failure(exchangeCode(swapped, grant))).toMatchObject({ code: 'issuer_mismatch' })
    }
    expect(other.calls).toEqual([])
    expect(await exchangeCode(config, grant)).toMatchObject({ accessToken: 'x' })
    expect(one.calls).toHaveLength(1)
  })
})
