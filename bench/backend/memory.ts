import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { liveSessions } from '../../src/backend/live-sessions.ts'
import { createAuthConfig, type TokenStorage } from '../../src/index.ts'
import { line } from './rounds.ts'

const sessions = 100_000
const target = 1_000

/** What each of 100,000 idle sessions costs a process whose storage is elsewhere. */
export async function memory(): Promise<boolean> {
  const config = createAuthConfig({
    authUrl: 'https://auth.example.com',
    baseUrl: 'https://api.example.com',
    clientId: 'app',
    redirectUri: 'https://app.example.com/auth/callback',
  })
  const live = liveSessions(config, elsewhere)
  const before = heapBytes()
  for (let at = 0; at < sessions; at++) await live.use(String(at), ({ session }) => session.getAccessToken())
  const each = (heapBytes() - before) / sessions
  for (let at = 0; at < sessions; at++) await live.use(String(at), ({ session }) => session.getAccessToken())
  const again = (heapBytes() - before) / sessions
  line(
    'memory per idle session',
    `${each.toFixed(0)} bytes of ${sessions.toLocaleString('en-US')} (target: under ${target})`,
  )
  line('  after as many again', `${again.toFixed(0)} bytes; ${live.size} sessions at hand`)
  return each < target && again < target
}

/** As Redis would give them: nothing of them is kept here. */
const elsewhere: TokenStorage = {
  getItem: async (name) =>
    JSON.stringify({
      v: 1,
      owner: name,
      id: name,
      rev: 1,
      accessToken: 'a'.repeat(800),
      refreshToken: 'r'.repeat(60),
      obtainedAtMs: 0,
    }),
  async setItem() {},
  async removeItem() {},
}

function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  return process.memoryUsage().heapUsed
}
