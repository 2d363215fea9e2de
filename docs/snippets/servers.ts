import { type Backend, createBackend } from 'agent-auth/backend'
import { discover } from 'agent-auth/discovery'
import { redisStorage } from 'agent-auth/redis'
import { Redis } from 'ioredis'

const { server, revocationEndpoint } = await discover('https://login.example.com')

export const backend: Backend = createBackend({
  ...server,
  revocationEndpoint,
  baseUrl: 'https://api.example.com',
  clientId: 'my-app',
  clientSecret: process.env.CLIENT_SECRET,
  redirectUri: 'https://app.example.com/auth/callback',
  scope: 'openid offline_access',
  sessions: redisStorage(new Redis()),
  secrets: [process.env.COOKIE_SECRET ?? ''],
})
