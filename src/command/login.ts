import type { AuthConfig } from '../config.ts'
import { AgentAuthError } from '../errors.ts'
import { maxLoginMs } from '../internal/limits.ts'
import { unconnectedCode } from '../internal/unconnected.ts'
import { signInWithLoopback } from '../node/loopback/sign-in.ts'
import { discardBody } from '../token-endpoint/response.ts'
import { type CommandLine, UsageError } from './command-line.ts'
import { openBrowser } from './open-browser.ts'
import { chooseSettings, openStorage, profileOf, replacedProfile, saveSettings } from './profile.ts'
import type { Result } from './session.ts'

/** How long a login waits for a sign that its authorization server runs, in milliseconds. */
const reachMs = 3_000

/** Signs the user in and keeps the session. Ctrl-C ends the login. */
export async function login({ profile, flags }: CommandLine): Promise<Result> {
  const timeoutMs = timeoutIn(flags.timeout)
  const storage = openStorage(process.env)
  const settings = await chooseSettings(storage, profile, flags)
  const { config, session } = profileOf(storage, profile, settings)
  // A login whose tokens cannot be kept would be in vain.
  await storage.ready()
  await requireServer(config)
  announce(config.authUrl)
  const stop = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())
  const tokens = await signInWithLoopback(config, {
    openBrowser: flags['no-browser'] ? undefined : openBrowser,
    ports: settings.ports,
    timeoutMs,
    signal: stop.signal,
  })
  const replaced = await replacedProfile(storage, profile, config)
  await session.signIn(tokens)
  const { status, expiresAtMs } = await profileOf(storage, profile, settings, 'without secret').session.ready()
  // A record of a newer version stays, and the session is in memory only.
  if (status !== 'signed-in')
    throw new AgentAuthError(
      'storage_failed',
      'The session was not saved, because a newer agent-auth has used this storage. Update agent-auth and sign in again.',
    )
  await saveSettings(storage, profile, settings)
  // From now on no logout of this profile would find its record.
  await replaced?.session.signOut()
  return { exitCode: 0, text: `${profile}: signed in`, json: { profile, status, expiresAtMs } }
}

/**
 * Rejects with `temporarily_unavailable` if no connection to the authorization server came about, because the browser would show no
 * more and the login would wait for its whole time. Every response, and every doubt, lets the login go on.
 */
export async function requireServer({ authUrl, fetch }: AuthConfig, timeoutMs: number = reachMs): Promise<void> {
  try {
    discardBody(await fetch(`${authUrl}/`, { redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) }))
  } catch (error) {
    const code = unconnectedCode(error)
    if (!code) return
    const message = `${new URL(authUrl).origin} was not reached (${code}). Check --auth-url, and that the service runs.`
    throw new AgentAuthError('temporarily_unavailable', message, { retryable: true })
  }
}

/** Says to a user what a wrong client id looks like, because only the page in the browser can tell. Scripts get no such line. */
function announce(authUrl: string): void {
  const remedy = 'If the browser shows an error, press Ctrl-C and run agent-auth doctor with the same options.'
  if (process.stderr.isTTY) process.stderr.write(`agent-auth: Sign in at ${new URL(authUrl).origin}. ${remedy}\n`)
}

function timeoutIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,2}$/.test(text) || Number(text) * 1_000 > maxLoginMs)
    throw new UsageError('--timeout takes seconds from 1 to 600')
  return Number(text) * 1_000
}
