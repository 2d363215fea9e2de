import { homedir } from 'node:os'
import { join } from 'node:path'
import { type AuthConfig, createSession, refreshTokens, type Session } from 'agent-auth'
import { fileStorage } from 'agent-auth/node'

const storage = fileStorage(join(homedir(), '.config', 'my-tool', 'sessions.json'))

export function sessionOf(config: AuthConfig): Session {
  return createSession(config, { storage })
}

/** Starts a session with a refresh token from a secret manager or another tool. */
export async function startFromText(config: AuthConfig, refreshToken: string): Promise<Session> {
  const session = sessionOf(config)
  await session.signIn(await refreshTokens(config, { refreshToken }))
  return session
}
