import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import { agentSearch, authorizeUrl, callApi, clientOf, exchange, signInPath } from '../support/login.ts'
import { createService } from '../support/start.ts'

let service: Service
beforeEach(async () => {
  service = await createService({ dev: 'on' })
})
afterEach(() => service.close())

const unknown =
  'no account has this email address; there are ada@demo.example, rui@demo.example, gil@demo.example, ola@other.example'

async function ask(parameters: Record<string, string | undefined> = {}, name = 'Demo public') {
  const client = clientOf(service, name)
  const { url, verifier, redirectUri } = authorizeUrl(service, { client, parameters })
  const answer = await service.fetch(url, { redirect: 'manual' })
  const callback = new URL(answer.headers.get('location') ?? 'about:blank')
  const code = callback.searchParams.get('code') ?? ''
  return { answer, callback: { url: callback, code, verifier, redirectUri, client } }
}

function post(email: unknown, control = 'auto-approve'): Promise<Response> {
  return service.fetch(`${service.authUrl}/_dev/${control}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email }),
  })
}

test.each(['Demo public', 'Demo confidential'])('autoApprove sends %s straight back with a code', async (name) => {
  service.dev.autoApprove('Ada@demo.example')
  const { answer, callback } = await ask({}, name)
  expect({ status: answer.status, state: callback.url.searchParams.get('state') }).toEqual({
    status: 302,
    state: 'state-1',
  })
  const changes = name === 'Demo public' ? {} : { code_verifier: callback.verifier }
  const tokens = (await (await exchange(service, callback, changes)).json()) as { access_token: string }
  expect((await callApi(service, { token: tokens.access_token, path: agentSearch, body: {} })).status).toBe(200)
  expect(service.dev.journal()).toContainEqual(expect.objectContaining({ event: 'consent_approved', tenant: 'demo' }))
})

test('autoApprove keeps every other rule', async () => {
  service.dev.autoApprove('ada@demo.example')
  expect((await ask({ client_id: 'app_x' })).answer.status).toBe(400)
  expect((await ask({ redirect_uri: 'https://evil.example/' })).answer.status).toBe(400)
  expect((await ask({ scope: 'x' })).callback.url.searchParams.get('error')).toBe('invalid_scope')
  expect((await ask({ code_challenge: undefined })).callback.url.searchParams.get('error')).toBe('invalid_request')
  const foreign = await ask({}, 'Other public')
  expect(foreign.callback.url.searchParams.get('error')).toBe('unauthorized_client')
  expect(foreign.callback.url.searchParams.get('error_description')).toBe(
    'the tenant of this account has not approved the client',
  )
  const { callback } = await ask()
  const wrong = await exchange(service, { ...callback, verifier: 'x'.repeat(43) })
  expect(wrong.status).toBe(400)
})

test('autoDeny sends the browser straight back with access_denied, until an approval takes its place', async () => {
  service.dev.autoDeny('ada@demo.example')
  const { searchParams } = (await ask()).callback.url
  expect(Object.fromEntries(searchParams)).toEqual({ error: 'access_denied', state: 'state-1' })
  expect(service.dev.journal()).toContainEqual(expect.objectContaining({ event: 'consent_denied', tenant: 'demo' }))
  expect(service.dev.autoApproved()).toBeUndefined()
  expect((await ask({ scope: 'x' })).callback.url.searchParams.get('error')).toBe('invalid_scope')
  expect((await post('ada@demo.example')).status).toBe(200)
  expect((await ask()).callback.code).not.toBe('')
  expect((await post('ada@demo.example', 'auto-deny')).status).toBe(200)
  expect((await ask()).callback.url.searchParams.get('error')).toBe('access_denied')
})

test('autoApprove ends with undefined and with a reset, and knows only people of the service', async () => {
  for (const stop of [async () => service.dev.autoApprove(undefined), () => service.dev.reset()]) {
    service.dev.autoApprove('ada@demo.example')
    await stop()
    const { answer } = await ask()
    expect({ status: answer.status, isSignIn: (await answer.text()).includes(signInPath) }).toEqual({
      status: 200,
      isSignIn: true,
    })
  }
  expect(() => service.dev.autoApprove('nobody@demo.example')).toThrow(new Error(unknown))
})

test.each([{ email: 'ada@demo.example' }, 5])('autoApprove(%o) says what it needs', (email) => {
  const problem = 'autoApprove needs an email address as text, or undefined'
  expect(() => service.dev.autoApprove(email as never)).toThrow(new TypeError(problem))
})

test('POST /_dev/auto-approve does the same', async () => {
  expect((await post('ada@demo.example')).status).toBe(200)
  expect((await ask()).answer.status).toBe(302)
  expect((await post(null)).status).toBe(200)
  expect((await ask()).answer.status).toBe(200)
  for (const email of ['nobody@demo.example', 5, undefined]) expect((await post(email)).status).toBe(422)
  expect(await (await post('nobody@demo.example')).json()).toEqual({ error: unknown })
})
