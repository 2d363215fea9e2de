import type { CommandLine } from './command-line.ts'
import { openProfile, openStorage } from './profile.ts'

/** What a command has to say: text for people, and the same as JSON. */
export interface Result {
  readonly exitCode: number
  readonly text: string
  readonly json: unknown
}

/** Prints a valid access token. */
export async function token({ profile }: CommandLine): Promise<Result> {
  const { session } = await openProfile(openStorage(process.env), profile)
  const accessToken = await session.getAccessToken()
  return { exitCode: 0, text: accessToken, json: { accessToken, expiresAtMs: session.state.expiresAtMs } }
}

/** Says whether the user is signed in. Needs no network. */
export async function status({ profile }: CommandLine): Promise<Result> {
  const { session, settings } = await openProfile(openStorage(process.env), profile, 'without secret')
  const { status, expiresAtMs } = await session.ready()
  const until = expiresAtMs === undefined ? '' : `, access token until ${new Date(expiresAtMs).toISOString()}`
  const isSignedIn = status === 'signed-in'
  return {
    exitCode: isSignedIn ? 0 : 3,
    text: `${profile}: ${status}${until}\n  authorization server ${settings.authUrl}\n  API ${settings.baseUrl}`,
    json: { profile, status, expiresAtMs, ...settings },
  }
}

/** Ends the session on this machine. It revokes nothing at the service. */
export async function logout({ profile }: CommandLine): Promise<Result> {
  const { session } = await openProfile(openStorage(process.env), profile, 'without secret')
  await session.signOut()
  return { exitCode: 0, text: `${profile}: signed out`, json: { profile, status: 'signed-out' } }
}
