import { createAuthConfig } from 'agent-auth'
import { signInWithLoopback } from 'agent-auth/node'

// A command-line tool whose user signs in, or presses Ctrl-C. It says how the login ended, and what keeps it from its exit then.
const [authUrl = '', clientId = 'tool'] = process.argv.slice(2)
const stop = new AbortController()
process.once('SIGINT', () => stop.abort())
const config = createAuthConfig({
  authUrl,
  baseUrl: authUrl,
  clientId,
  redirectUri: 'http://127.0.0.1/callback',
})
const outcome = await signInWithLoopback(config, {
  signal: stop.signal,
  openBrowser: (url) => process.send?.(url),
}).then(
  () => 'signed in',
  (error: { code?: string }) => error.code ?? String(error),
)
// What was closed is gone after two turns. The channel to the test is a pipe.
for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve))
process.send?.({
  outcome,
  live: process.getActiveResourcesInfo().filter((name) => !/^(PipeWrap|Immediate)$/.test(name)),
})
process.disconnect()
