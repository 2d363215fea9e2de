import { AgentAuthError, isAgentAuthError } from '../errors.ts'
import { maxLoginMs } from '../internal/limits.ts'
import { signInWithLoopback } from '../node/loopback/sign-in.ts'
import type { Session } from '../session.ts'
import { type CommandLine, UsageError } from './command-line.ts'
import { openBrowser } from './open-browser.ts'
import { chooseSettings, openStorage, profileOf, replacedProfile, saveSettings } from './profile.ts'
import { requireServer } from './reach-server.ts'
import type { Result } from './session.ts'

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
  }).catch((error) => {
    throw isAgentAuthError(error) && error.code === 'timeout' ? lateLogin() : error
  })
  const replaced = await replacedProfile(storage, profile, config)
  await session.signIn(tokens)
  await requireSaved(profileOf(storage, profile, settings).session)
  await saveSettings(storage, profile, settings)
  // From now on no logout of this profile would find its record.
  await replaced?.session.signOut()
  const { status, expiresAtMs } = session.state
  return { exitCode: 0, text: `${profile}: signed in`, json: { profile, status, expiresAtMs } }
}

/** Rejects with `storage_failed` if another session finds no sign-in in the storage, because `signIn` resolves also if its save failed. */
async function requireSaved(other: Session): Promise<void> {
  const { status } = await other.ready()
  if (status === 'signed-in') return
  throw new AgentAuthError(
    'storage_failed',
    'The session was not saved. If a newer agent-auth has used this storage, update agent-auth. Then sign in again.',
  )
}

/** Says to a user what a wrong client id looks like, because only the page in the browser can tell. Scripts get no such line. */
function announce(authUrl: string): void {
  const remedy = 'If the browser shows an error, press Ctrl-C and run agent-auth doctor with the same options.'
  if (process.stderr.isTTY) process.stderr.write(`agent-auth: Sign in at ${new URL(authUrl).origin}. ${remedy}\n`)
}

/** To try again later would not help: the user has to do something. */
function lateLogin(): AgentAuthError {
  return new AgentAuthError(
    'timeout',
    'The login was not finished in time. Run agent-auth login again, with --timeout 600 for more time or --no-browser to see the URL.',
  )
}

function timeoutIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,2}$/.test(text) || Number(text) * 1_000 > maxLoginMs)
    throw new UsageError('--timeout takes seconds from 1 to 600')
  return Number(text) * 1_000
}
