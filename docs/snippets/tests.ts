import { createAuthConfig, createBearerFetch, createSession, exchangeCode, readCallback, startLogin } from 'agent-auth'
import { createService } from 'agent-service'
import { expect, test } from 'vitest' // or any other runner

test('an expired token is renewed, and nobody notices', async () => {
  const service = await createService() // in process: no port, no browser
  service.dev.autoApprove('ada@demo.example') // signs in and approves without pages
  const clientId = service.clients.find(({ kind }) => kind === 'public')?.clientId ?? ''
  const redirectUri = 'https://app.demo.example/callback'
  const { authUrl, baseUrl, fetch } = service
  const config = createAuthConfig({ authUrl, baseUrl, clientId, redirectUri, fetch }) // without fetch, requests leave this process

  const { url, pending } = await startLogin(config)
  const redirect = await fetch(url, { redirect: 'manual' })
  const grant = readCallback(pending, redirect.headers.get('location') ?? '')
  const session = createSession(config)
  await session.signIn(await exchangeCode(config, grant))

  // An hour later, for the service alone. To do this twice within 30 s, give createAuthConfig a `clock` that you advance too.
  service.dev.advance(3_600_000)
  const api = createBearerFetch(session, { baseUrl, fetch })
  const headers = { 'content-type': 'application/json' }
  expect((await api('/api/llm_models/search', { method: 'POST', headers, body: '{}' })).status).toBe(200)
  await service.close()
})
