import type { TokenStorage } from 'agent-auth'
import { expect, test } from 'vitest'
import { guard, statusAndCode, steppedStorage } from '../support/backend-rig.ts'
import { rigOf } from '../support/rig-of.ts'

test('a login has the params of the backend, and of the link only login_hint and prompt', async () => {
  const rig = await rigOf({ backend: { params: { access_type: 'offline', prompt: 'consent' } } })
  const authorize = async (query: string): Promise<Record<string, string>> => {
    const started = await rig.browser().send(`/auth/login?${query}`)
    return Object.fromEntries(new URL(started.headers.get('location') ?? '').searchParams)
  }
  expect(await authorize('')).toMatchObject({ access_type: 'offline', prompt: 'consent' })
  const asked = await authorize('login_hint=ada%40demo.example&prompt=login&state=mine&audience=x&scope=all')
  expect(asked).toMatchObject({ access_type: 'offline', prompt: 'login', login_hint: 'ada@demo.example' })
  expect(asked).not.toHaveProperty('audience')
  expect([asked.state, asked.scope]).not.toEqual(['mine', 'all'])
  expect(await authorize('login_hint=a%0Ab&prompt=%3Cb%3E')).toMatchObject({ prompt: 'consent' })
})

test('a logout at the service responds with its URL, which returns to the app and to no other origin', async () => {
  const rig = await rigOf()
  const signOut = async (query: string): Promise<{ status: string; endSessionUrl?: string }> => {
    const browser = rig.browser()
    await browser.logIn()
    return (await browser.send(`/auth/logout${query}`, { method: 'POST', headers: guard })).json()
  }
  expect(await signOut('')).toEqual({ status: 'signed-out' })
  const { endSessionUrl = '' } = await signOut('?at_service&return_to=/bye')
  const { origin, pathname, searchParams } = new URL(endSessionUrl)
  expect(origin + pathname).toBe(`${rig.service.authUrl}/auth/v1/logout`)
  expect(Object.fromEntries(searchParams)).toEqual({
    client_id: rig.options.clientId,
    post_logout_redirect_uri: 'https://app.demo.example/bye',
  })
  const elsewhere = await signOut('?at_service&return_to=https://evil.example/')
  expect(elsewhere.endSessionUrl).toContain(encodeURIComponent('https://app.demo.example/'))
})

test('the body of a request with an invented cookie is not read before the storage has answered', async () => {
  let answer = (): void => {}
  let isSlow = false
  const sessions: TokenStorage = steppedStorage((operation) => {
    if (isSlow && operation === 'getItem')
      return new Promise((resolve) => {
        answer = resolve
      })
  })
  const rig = await rigOf({ backend: { sessions, proxy: ['POST /api/documents'] } })
  const browser = rig.browser()
  await browser.logIn()
  const [name, value] = browser.session()
  browser.setCookie(name, `${value.slice(0, -3)}AAA`)
  isSlow = true
  let pulls = 0
  const body = new ReadableStream(
    {
      pull(controller) {
        pulls++
        if (pulls > 3) controller.close()
        else controller.enqueue(new Uint8Array(65_536))
      },
    },
    { highWaterMark: 0 },
  )
  const refused = browser.call('/api/documents', { method: 'POST', body, duplex: 'half' } as RequestInit)
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(pulls).toBe(0)
  isSlow = false
  answer()
  expect(await statusAndCode(await refused)).toEqual({ status: 401, code: 'login_required' })
})
