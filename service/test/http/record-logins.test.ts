import { Hono } from 'hono'
import { expect, test, vi } from 'vitest'
import { createLogins } from '../../src/dev/login-traces.ts'
import { recordLogins, shownQuery } from '../../src/dev/record-logins.ts'
import type { HttpEnvironment } from '../../src/http/hono-environment.ts'
import { createClock } from '../../src/state.ts'

test('what is kept of a form are the fields that the dev page shows, and not its password', async () => {
  const logins = createLogins(createClock())
  const form = new Map(Object.entries({ decision: 'approve', password: 'a-typed-password', email: 'ada@demo.example' }))
  const fields = vi.fn((name: string) => form.get(name))
  const app = new Hono<HttpEnvironment>()
  app.use(recordLogins(logins))
  app.post('/auth/v1/sign-in', (c) => {
    const trace = c.get('trace')
    if (trace !== undefined) trace.fields = fields
    return c.text('')
  })
  await app.request('/auth/v1/sign-in?state=xyz', { method: 'POST' })
  fields.mockClear()
  expect(logins.find('1')?.steps[0]?.sent.map(([name]) => name)).toEqual(['state', 'decision', 'password'])
  expect(fields).not.toHaveBeenCalled()
})

test('what is kept of a URL are the parameters that the dev page shows', () => {
  const parameters = 'password=a-typed-password&state=x%20y&%70assword=a-typed-password&code&=&token=z'
  expect(shownQuery(`http://127.0.0.1/auth/v1/sign-in?${parameters}`)).toBe('?state=x%20y&code')
  expect(shownQuery('http://127.0.0.1/auth/v1/sign-in')).toBe('?')
})
