import { homedir } from 'node:os'
import { join } from 'node:path'
import { type AuthConfig, createAuthConfig } from '../config.ts'
import { AgentAuthError } from '../errors.ts'
import { attempt } from '../internal/attempt.ts'
import { fileStorage } from '../node/file-storage.ts'
import { sessionName } from '../session/record.ts'
import { createSession, type Session } from '../session.ts'
import type { TokenStorage } from '../storage/token-storage.ts'
import type { Flags } from './command-line.ts'

/** What a profile remembers. */
export interface Settings {
  readonly authUrl: string
  readonly baseUrl: string
  readonly clientId: string
  readonly redirectUri: string
  readonly scope: string
}

/** A profile, with the session of its user. */
export interface Profile {
  readonly settings: Settings
  readonly config: AuthConfig
  readonly session: Session
}

const loopback = 'http://127.0.0.1/callback'

/** Returns the storage of all profiles. */
export function openStorage(env: NodeJS.ProcessEnv): TokenStorage & { ready(): Promise<void> } {
  const { AGENT_AUTH_HOME, XDG_CONFIG_HOME, APPDATA } = env
  const folder =
    AGENT_AUTH_HOME ||
    join(XDG_CONFIG_HOME || (process.platform === 'win32' && APPDATA) || join(homedir(), '.config'), 'agent-auth')
  return fileStorage(join(folder, 'sessions.json'))
}

/** Returns the settings of a login: flags before the environment before those remembered. */
export async function chooseSettings(storage: TokenStorage, name: string, flags: Flags): Promise<Settings> {
  const saved = await readSettings(storage, name)
  const { env } = process
  return {
    authUrl: flags['auth-url'] ?? env.AGENT_AUTH_URL ?? saved?.authUrl ?? '',
    baseUrl: flags['base-url'] ?? env.AGENT_BASE_URL ?? saved?.baseUrl ?? '',
    clientId: flags['client-id'] ?? env.AGENT_PUBLIC_CLIENT_ID ?? saved?.clientId ?? '',
    redirectUri: flags['redirect-uri'] ?? saved?.redirectUri ?? loopback,
    scope: flags.scope ?? saved?.scope ?? 'api.access',
  }
}

/** Returns the profile that a login has remembered. Rejects with `login_required` if there was none. */
export async function openProfile(storage: TokenStorage, name: string): Promise<Profile> {
  const settings = await readSettings(storage, name)
  if (!settings) throw new AgentAuthError('login_required', 'This profile has no session. Run agent-auth login.')
  return profileOf(storage, name, settings)
}

/** Returns the profile of an earlier login at another service or client, whose record a login with this config leaves in place. */
export async function replacedProfile(
  storage: TokenStorage,
  name: string,
  config: AuthConfig,
): Promise<Profile | undefined> {
  const settings = await readSettings(storage, name)
  // Settings that this version does not accept must not keep the user from a login.
  const earlier = settings && attempt(() => profileOf(storage, name, settings))
  return earlier && sessionName(earlier.config, name) !== sessionName(config, name) ? earlier : undefined
}

/** Returns a profile with these settings. Throws `config_invalid`. */
export function profileOf(storage: TokenStorage, name: string, settings: Settings): Profile {
  const config = createAuthConfig({ ...settings })
  return { settings, config, session: createSession(config, { storage, key: name }) }
}

/** Remembers the settings of a login that succeeded. */
export async function saveSettings(storage: TokenStorage, name: string, settings: Settings): Promise<void> {
  await storage.setItem(keyOf(name), JSON.stringify(settings))
}

async function readSettings(storage: TokenStorage, name: string): Promise<Settings | undefined> {
  const text = (await storage.getItem(keyOf(name))) ?? ''
  const value: Partial<Settings> | undefined = attempt(() => JSON.parse(text))
  const members = [value?.authUrl, value?.baseUrl, value?.clientId, value?.redirectUri, value?.scope]
  return members.every((member) => typeof member === 'string') ? (value as Settings) : undefined
}

function keyOf(name: string): string {
  return `agent-auth:profile:${name}`
}
