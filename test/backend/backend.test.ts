import { describe, expect, test } from 'vitest'
import { guard, searchPath } from '../support/backend-rig.ts'
import { rigOf } from '../support/rig-of.ts'

describe('a login through the backend', () => {
  test('login, session, API and logout, with an opaque Strict cookie', async () => {
    const rig = await rigOf()
    const browser = rig.browser()
    expect(await browser.status()).toBe('signed-out')
    const landed = await browser.logIn('/agents?page=2#new')
    expect(landed.status).toBe(200)
    expect(await landed.text()).toContain('href="/agents?page=2#new"')
    expect(await browser.status()).toBe('signed-in')
    const answered = await browser.call()
    expect(answered.status).toBe(200)
    expect(await answered.json()).toMatchObject({ success: true })
    expect((await browser.logOut()).status).toBe(200)
    expect(await browser.status()).toBe('signed-out')
    expect((await browser.call()).status).toBe(401)
    expect([...browser.cookies]).toEqual([])
    expect(rig.sent.filter(({ url }) => url.includes(searchPath))).toHaveLength(1)
    expect(rig.events.map(({ type }) => type)).toEqual([
      'login_started',
      'token_request',
      'login_finished',
      'proxied',
      'session_ended',
      'logged_out',
      'proxy_refused',
    ])
  })

  test('a request with a wrong method gets 405 and the right method', async () => {
    const { backend } = await rigOf()
    for (const [path, method] of [
      ['login', 'GET'],
      ['callback', 'GET'],
      ['session', 'GET'],
      ['logout', 'POST'],
    ]) {
      const answered = await backend.handle(new Request(`https://app.demo.example/auth/${path}`, { method: 'PUT' }))
      expect({ status: answered?.status, allow: answered?.headers.get('allow') }).toEqual({
        status: 405,
        allow: method,
      })
    }
  })

  test('handle resolves to null for routes that the backend does not serve', async () => {
    const rig = await rigOf()
    for (const path of ['/', '/auth', '/auth/login/', '/auth/other', '/api', '/api/unknown'])
      expect(await rig.backend.handle(new Request(`https://app.demo.example${path}`, { headers: guard }))).toBeNull()
  })
})
