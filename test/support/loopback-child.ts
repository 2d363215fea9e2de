import { createAuthConfig } from 'agent-auth'
import { signInWithLoopback } from 'agent-auth/node'

// A command-line tool whose user presses Ctrl-C. It says how the login ended, and then has nothing left to do.
const [authUrl = ''] = process.argv.slice(2)
const stop = new AbortController()
process.once('SIGINT', () => stop.abort())
const config = createAuthConfig({
  authUrl,
  baseUrl: authUrl,
  clientId: 'tool',
  redirectUri: 'http://127.0.0.1/callback',
})
const outcome = await signInWithLoopback(config, {
  signal: stop.signal,
  openBrowser: (url) => process.send?.(url),
}).then(
  () => 'signed in',
  (error: { code?: string }) => error.code ?? String(error),
)
process.send?.(outcome)
process.disconnect()
