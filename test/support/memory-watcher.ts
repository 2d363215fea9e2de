import { createAuthConfig, isAgentAuthError, refreshTokens } from 'agent-auth'
import { tokensWith } from './token-flow.ts'

// A process that does nothing but refresh against a hostile server, so that its resident memory tells of that alone.
const [kindUrl = '', hostileUrl = ''] = process.argv.slice(2)

async function refreshes(authUrl: string, count: number): Promise<string[]> {
  const config = createAuthConfig({
    authUrl,
    baseUrl: 'https://api.example.com',
    clientId: 'app',
    redirectUri: 'https://app.example.com/callback',
    // The longest, because a busy machine may take minutes to unpack 200 MB.
    timeoutMs: 60_000,
  })
  const codes: string[] = []
  for (let turn = 0; turn < count; turn++) {
    codes.push(await refreshTokens(config, tokensWith()).then(() => 'refreshed', codeOf))
  }
  return codes
}

function codeOf(error: unknown): string {
  if (isAgentAuthError(error)) return error.code
  throw error
}

/** The most that the resident memory grows by meanwhile, in MiB. */
async function growth(run: () => Promise<unknown>): Promise<number> {
  const before = process.memoryUsage.rss()
  let most = before
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss())
  }, 5)
  await run()
  clearInterval(timer)
  return (Math.max(most, process.memoryUsage.rss()) - before) / 2 ** 20
}

// The first calls pay for what every call needs: buffers, code.
await refreshes(kindUrl, 15)
const codes: string[] = []
const grownMiB = await growth(async () => codes.push(...(await refreshes(hostileUrl, 5))))
process.send?.({ codes, grownMiB })
