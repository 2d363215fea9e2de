// @module-tag database

import { expect, onTestFinished, test } from 'vitest'
import { databaseFailureOf } from '../../src/store/failures.ts'
import { authorizeUrl, Browser, clientOf, refresh } from '../support/login.ts'
import { assemble } from '../support/start.ts'
import { observe } from '../support/statements.ts'

test('a page says that the data cannot be reached, and a failed look-up is no failed attempt of a user', async () => {
  const assembly = await assemble()
  const { service } = assembly
  onTestFinished(service.close)
  const browser = new Browser(service.fetch)
  const client = clientOf(service, 'Demo confidential')
  const gone = Object.assign(new Error('the database went away'), { code: 'ECONNREFUSED' })
  let state: 'away' | 'back' = 'away'
  observe(assembly, {
    before() {
      if (state === 'away') throw gone
    },
  })
  for (let attempt = 0; attempt < 20; attempt += 1) {
    expect((await refresh(service, client, 'art_x')).status).toBe(503)
  }
  const page = await browser.get(`${service.authUrl}/auth/v1/authorize?client_id=x`)
  expect({ status: page.status, retryAfter: page.response.headers.get('retry-after') }).toEqual({
    status: 503,
    retryAfter: '1',
  })
  expect(page.html).toContain('cannot reach its data')
  state = 'back'
  // Ten failures would have been followed by 429.
  expect((await refresh(service, client, 'art_x')).status).toBe(400)
})

test('a clean-up that cannot be done now disturbs no request; what else goes wrong in it is a 500', async () => {
  const assembly = await assemble()
  const { service, context } = assembly
  onTestFinished(service.close)
  const failures = { SQLITE_BUSY: 200, SQLITE_CORRUPT: 500 }
  let code: string | undefined
  observe(assembly, {
    before({ sql }) {
      if (code !== undefined && sql.startsWith('delete')) throw Object.assign(new Error('no'), { code })
    },
  })
  for (const [name, status] of Object.entries(failures)) {
    code = name
    context.clock.advance(61_000)
    const page = await new Browser(service.fetch).get(authorizeUrl(service).url)
    expect({ name, status: page.status }).toEqual({ name, status })
  }
})

test.each([
  [{ code: 'SQLITE_BUSY', rawCode: 5 }, 'unavailable'],
  [{ code: 'SQLITE_BUSY', rawCode: 517 }, 'conflict'],
  [{ code: 'SQLITE_IOERR_WRITE' }, 'unavailable'],
  [{ code: 'SQLITE_CONSTRAINT_UNIQUE' }, 'other'],
  [{ code: '40001' }, 'conflict'],
  [{ code: '40P01' }, 'conflict'],
  [{ code: '23503' }, 'conflict'],
  [{ code: '53100' }, 'unavailable'],
  [{ code: '57P01' }, 'unavailable'],
  [{ code: '23505' }, 'other'],
  [{ code: '42P01' }, 'other'],
  [{ code: 'ECONNRESET' }, 'unavailable'],
  [{ code: 'ERR_INVALID_ARG_TYPE' }, 'other'],
  [{ message: 'Connection terminated unexpectedly' }, 'unavailable'],
  [{ message: 'timeout exceeded when trying to connect' }, 'unavailable'],
  [{ message: 'anything else' }, 'other'],
])('%j is %s', (error, failure) => {
  expect(databaseFailureOf(Object.assign(new Error('message' in error ? error.message : ''), error))).toBe(failure)
  expect(databaseFailureOf(error)).toBe('other')
})
