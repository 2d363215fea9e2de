import { urlOfSessionEnd } from '../end-session.ts'
import { sleep } from '../internal/timeouts.ts'
import type { CommandLine } from './command-line.ts'
import { escaped } from './escaped.ts'
import { holdSignals } from './hold-signals.ts'
import { openBrowser } from './open-browser.ts'
import { openProfile, openStorage, storagePath } from './profile.ts'

/** How long a command waits for the program that opens a browser, in milliseconds. It may run until the browser is closed. */
const openerWaitMs = 3_000

/** What a command has to say: text for people, and the same as JSON. */
export interface Result {
  readonly exitCode: number
  readonly text: string
  readonly json: unknown
}

/** Prints a valid access token. */
export async function token({ profile }: CommandLine): Promise<Result> {
  const { session } = await openProfile(holdSignals(openStorage(process.env)), profile)
  const accessToken = await session.getAccessToken()
  return { exitCode: 0, text: accessToken, json: { accessToken, expiresAtMs: session.state.expiresAtMs } }
}

/** Says who is signed in, until when and where that is stored. Needs no network. */
export async function status({ profile }: CommandLine): Promise<Result> {
  const { session, settings } = await openProfile(openStorage(process.env), profile, 'without secret')
  const { status, expiresAtMs } = await session.ready()
  const { subject, tenant, permissions } = session.claims ?? {}
  const storage = storagePath(process.env)
  const lines = [
    `${profile}: ${status}`,
    ...(subject === undefined ? [] : [`  user ${subject}`]),
    ...(tenant === undefined ? [] : [`  tenant ${tenant}`]),
    ...(permissions ? [`  permissions ${permissions.join(', ') || 'none'}`] : []),
    ...(expiresAtMs === undefined ? [] : [`  access token until ${new Date(expiresAtMs).toISOString()}`]),
    `  authorization server ${settings.authUrl}`,
    `  API ${settings.baseUrl}`,
    `  tokens in ${storage}`,
  ]
  return {
    exitCode: status === 'signed-in' ? 0 : 3,
    text: lines.map(escaped).join('\n'),
    json: { profile, status, subject, tenant, permissions, expiresAtMs, storage, ...settings },
  }
}

/** Ends the session on this machine, and the sign-in of the browser at the service if asked. It revokes no token. */
export async function logout({ profile, flags }: CommandLine): Promise<Result> {
  const { session, config } = await openProfile(openStorage(process.env), profile, 'without secret')
  await session.signOut()
  if (flags['at-service']) {
    const { href } = urlOfSessionEnd(config)
    const show = () => process.stderr.write(`Open this URL in a browser to sign out there:\n\n  ${href}\n`)
    const waiting = new AbortController()
    const opened = openBrowser(href).catch(show)
    void opened.finally(() => waiting.abort())
    await sleep(openerWaitMs, waiting.signal).catch(() => {})
  }
  return { exitCode: 0, text: `${profile}: signed out`, json: { profile, status: 'signed-out' } }
}
