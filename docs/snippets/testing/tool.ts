import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthConfig, createBearerFetch, createSession } from 'agent-auth'
import { fileStorage, signInWithLoopback } from 'agent-auth/node'
import { testService } from 'agent-auth/testing'
import { afterAll, expect, test } from 'vitest'

const service = await testService({ after: afterAll, transport: 'loopback' })
const file = join(await mkdtemp(join(tmpdir(), 'my-tool-')), 'sessions.json')

/** Follows every redirect up to the callback, as a browser does. */
async function openBrowser(url: string): Promise<void> {
  await fetch(url)
}

/** Your tool, with its options as a parameter. Each run has a session of its own, as each process has. */
async function run(command: 'login' | 'models', options = service.options): Promise<string> {
  const config = createAuthConfig({ ...options, redirectUri: 'http://127.0.0.1/callback' })
  const session = createSession(config, { storage: fileStorage(file) })
  if (command === 'login') {
    await session.signIn(await signInWithLoopback(config, { openBrowser }))
    return 'Signed in.'
  }
  const { baseUrl, fetch } = options
  const headers = { 'content-type': 'application/json' }
  const send = createBearerFetch(session, { baseUrl, fetch })
  const response = await send('/api/llm_models/search', { method: 'POST', headers, body: '{}' })
  return response.ok ? 'Models.' : `Failed with ${response.status}.`
}

test('two runs an hour after the login refresh its session once', async () => {
  expect(await service.approving(service.email, () => run('login'))).toBe('Signed in.')
  service.advance(3_600_000)
  expect(await Promise.all([run('models'), run('models')])).toEqual(['Models.', 'Models.'])
  const refreshes = service.dev.journal().filter((entry) => 'grantType' in entry && entry.grantType === 'refresh_token')
  expect(refreshes).toHaveLength(1)
})
