// @vitest-environment jsdom
import { memoryStorage } from 'agent-auth'
import { createBackend } from 'agent-auth/backend'
import { expect, test } from 'vitest'

test('createBackend in a test that runs in jsdom names the test environment', () => {
  const create = (): unknown =>
    createBackend({
      authUrl: 'https://auth.example.com',
      baseUrl: 'https://api.example.com',
      clientId: 'c',
      clientSecret: 's',
      redirectUri: 'https://app.example.com/auth/callback',
      sessions: memoryStorage(),
      secrets: ['x'.repeat(32)],
    })
  expect(create).toThrow(/jsdom.*@vitest-environment node/)
})
