// @module-tag database

import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import { agentSearch, authorize, callApi, clientOf, exchange, login, refresh } from '../support/login.ts'
import { createService } from '../support/start.ts'

let service: Service
beforeEach(async () => {
  service = await createService()
})
afterEach(async () => {
  await service.close()
})

test('a public client logs in, calls the API and refreshes', async () => {
  // Half a second between issuing and answering would leave 599 s.
  service.dev.freeze()
  const tokens = await login(service)
  expect(tokens).toMatchObject({ token_type: 'Bearer', expires_in: 600, scope: 'api.access' })
  expect(tokens.refresh_token).toMatch(/^art_[A-Za-z0-9_-]{43}$/)
  const found = await callApi(service, { token: tokens.access_token, path: agentSearch, body: {} })
  expect(found.status).toBe(200)
  const answer = await refresh(service, clientOf(service, 'Demo public'), tokens.refresh_token)
  expect(answer.status).toBe(200)
})

test.each(['with', 'without'] as const)('a confidential client logs in %s PKCE', async (pkce) => {
  const client = clientOf(service, 'Demo confidential')
  const tokens = await login(service, { client, pkce })
  const found = await callApi(service, { token: tokens.access_token, path: '/api/llm_models/search', body: {} })
  expect(found.status).toBe(200)
  expect((await refresh(service, client, tokens.refresh_token)).status).toBe(200)
})

test('denial comes back as access_denied with the state and without a code', async () => {
  const { url } = await authorize(service, { decision: 'deny', state: 'abc' })
  expect(url.origin + url.pathname).toBe('https://app.demo.example/callback')
  expect(Object.fromEntries(url.searchParams)).toEqual({ error: 'access_denied', state: 'abc' })
})

test('the minimal token response holds access_token and refresh_token and nothing else', async () => {
  const minimal = await createService({ tokenResponse: 'minimal' })
  const answer = await exchange(minimal, await authorize(minimal))
  expect(Object.keys((await answer.json()) as object).sort()).toEqual(['access_token', 'refresh_token'])
  await minimal.close()
})
