import { readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { type AuthConfig, createAuthConfig } from '../config.ts'
import { AgentAuthError, isAgentAuthError } from '../errors.ts'
import { attempt, invalid, parseObject } from '../internal/values.ts'
import { fileStorage } from '../node/file-storage.ts'
import { arePorts } from '../node/loopback/listen.ts'
import { checkApiUrl } from '../service-url.ts'
import { sessionName } from '../session/record.ts'
import { createSession, type Session } from '../session.ts'
import type { SharedStorage } from '../storage/shared/leased-storage.ts'
import type { TokenStorage } from '../storage/token-storage.ts'
import { type Flags, UsageError } from './command-line.ts'

/** What a profile remembers. */
export interface Settings {
  readonly authUrl: string
  readonly baseUrl: string
  readonly clientId: string
  readonly redirectUri: string
  readonly scope: string
  /** The ports that a login listens on. undefined stands for that of `redirectUri`, or any free one. */
  readonly ports?: readonly number[] | undefined
  /** The path of the file that holds the secret of a confidential client. The secret itself is not remembered. */
  readonly clientSecretFile?: string | undefined
}

/** Sets whether a profile can get tokens. Without the secret, a profile can be read and signed out when its file is gone. */
export type SecretPolicy = 'with secret' | 'without secret'

/** A profile, with the session of its user. */
export interface Profile {
  readonly settings: Settings
  readonly config: AuthConfig
  readonly session: Session
}

/** Returns the storage of all profiles. */
export function openStorage(env: NodeJS.ProcessEnv): SharedStorage {
  return fileStorage(storagePath(env))
}

/** Says where the storage is. The errors of the library name its file alone, because a path may hold what others must not see. */
export function whereStorage(env: NodeJS.ProcessEnv): string {
  return `The storage is ${storagePath(env)}. AGENT_AUTH_HOME sets another folder.`
}

/** Returns the file of the sessions, which only its user can read: AGENT_AUTH_HOME, or a folder for settings, has it. */
export function storagePath(env: NodeJS.ProcessEnv): string {
  const { AGENT_AUTH_HOME, XDG_CONFIG_HOME, APPDATA } = env
  // A container may run as a user id that the system has no home folder for.
  const settings =
    XDG_CONFIG_HOME || (process.platform === 'win32' && APPDATA) || join(attempt(homedir) ?? '', '.config')
  const folder = AGENT_AUTH_HOME || join(settings, 'agent-auth')
  // From the current folder, the sessions would be those that an unpacked archive brought.
  if (!isAbsolute(folder)) invalid('the folder of the sessions must be an absolute path. Set HOME or AGENT_AUTH_HOME')
  return join(folder, 'sessions.json')
}

/**
 * Returns the settings of a login: flags before the environment (AGENT_AUTH_URL, AGENT_BASE_URL, AGENT_PUBLIC_CLIENT_ID) before those
 * remembered. Warns if other users can read the secret. Rejects with `config_invalid`, or a `UsageError` for the ports.
 */
export async function chooseSettings(storage: TokenStorage, name: string, flags: Flags): Promise<Settings> {
  const givenPorts = portsIn(flags.ports)
  const saved = await readSettings(storage, name)
  const { env } = process
  const authUrl = flags['auth-url'] ?? (env.AGENT_AUTH_URL || saved?.authUrl || '')
  const clientId = flags['client-id'] ?? (env.AGENT_PUBLIC_CLIENT_ID || saved?.clientId || '')
  const baseUrl = flags['base-url'] ?? (env.AGENT_BASE_URL || saved?.baseUrl || '')
  const required = [
    [authUrl, '--auth-url or AGENT_AUTH_URL'],
    [baseUrl, '--base-url or AGENT_BASE_URL'],
    [clientId, '--client-id or AGENT_PUBLIC_CLIENT_ID'],
  ]
  const missing = required.filter(([value]) => !value).map(([, names]) => names)
  if (missing.length > 0) invalid(`set ${missing.join(', ')}. A .env file is read only by node --env-file`)
  checkApiUrl(baseUrl)
  // A secret must not reach another service or client.
  const isSame = saved && withoutSlash(authUrl) === withoutSlash(saved.authUrl) && clientId === saved.clientId
  const given = flags['client-secret-file']
  const clientSecretFile = given === undefined ? (isSame ? saved.clientSecretFile : undefined) : resolve(given)
  if (clientSecretFile !== undefined) warnOfOpenSecret(clientSecretFile)
  const redirectUri = flags['redirect-uri'] ?? saved?.redirectUri ?? 'http://127.0.0.1/callback'
  return {
    authUrl,
    baseUrl,
    clientId,
    redirectUri,
    scope: flags.scope ?? saved?.scope ?? 'api.access',
    // The ports are part of what is registered for a client.
    ports: givenPorts ?? (isSame && redirectUri === saved.redirectUri ? saved.ports : undefined),
    clientSecretFile,
  }
}

function portsIn(text: string | undefined): readonly number[] | undefined {
  if (text === undefined) return undefined
  const ports = text.split(',').map(Number)
  if (!/^\d{1,5}(,\d{1,5})*$/.test(text) || !arePorts(ports))
    throw new UsageError('--ports takes numbers up to 65535 separated by commas')
  return ports
}

/** Warns if other users can read the file. It is used all the same, because Docker and Kubernetes mount secrets so. */
function warnOfOpenSecret(file: string): void {
  const { mode = 0 } = attempt(() => statSync(file)) ?? {}
  // Windows has no modes.
  if (process.geteuid && mode & 0o077)
    process.stderr.write('agent-auth: other users can read the file of --client-secret-file. Run chmod 600 on it\n')
}

/** Returns the profile that a login has remembered. Rejects with `login_required` if there was none. */
export async function openProfile(
  storage: TokenStorage,
  name: string,
  secret: SecretPolicy = 'with secret',
): Promise<Profile> {
  const settings = await readSettings(storage, name)
  if (!settings) throw new AgentAuthError('login_required', `There is no profile ${name}. Run agent-auth login.`)
  return profileOf(storage, name, settings, secret)
}

/** Returns the profile of an earlier login at another service or client, whose record a login with this config leaves in place. */
export async function replacedProfile(
  storage: TokenStorage,
  name: string,
  config: AuthConfig,
): Promise<Profile | undefined> {
  const settings = await readSettings(storage, name)
  // Settings that this version does not accept must not keep the user from a login.
  const earlier = settings && attempt(() => profileOf(storage, name, settings, 'without secret'))
  return earlier && sessionName(earlier.config, name) !== sessionName(config, name) ? earlier : undefined
}

/** Returns a profile with these settings. Throws `config_invalid`. */
export function profileOf(
  storage: TokenStorage,
  name: string,
  settings: Settings,
  secret: SecretPolicy = 'with secret',
): Profile {
  const { clientSecretFile: _, ports: __, ...options } = settings
  const clientSecret = secret === 'with secret' ? readClientSecret(settings, process.env) : undefined
  const config = createAuthConfig({ ...options, clientSecret })
  return { settings, config, session: createSession(config, { storage, key: name }) }
}

/**
 * Returns the secret of a confidential client, or undefined for any other. It is in the file that a login named, or else in
 * AGENT_CLIENT_SECRET, which belongs to the client AGENT_CLIENT_ID alone, and only at AGENT_AUTH_URL if that is set. Throws
 * `config_invalid`.
 */
export function readClientSecret({ authUrl, clientId, clientSecretFile }: Settings, env: NodeJS.ProcessEnv) {
  if (clientSecretFile !== undefined) return secretIn(clientSecretFile)
  // A profile of another service, such as one for tests, may have the same client id.
  const isItsService = !env.AGENT_AUTH_URL || withoutSlash(authUrl) === withoutSlash(env.AGENT_AUTH_URL)
  return (clientId === env.AGENT_CLIENT_ID && isItsService && env.AGENT_CLIENT_SECRET) || undefined
}

function secretIn(file: string): string {
  try {
    const secret = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
    return secret || invalid('the file of --client-secret-file is empty. Write the client secret into it')
  } catch (error) {
    if (isAgentAuthError(error)) throw error
    const { code } = error as NodeJS.ErrnoException
    invalid(
      `the file of --client-secret-file cannot be read (${code}). Check its path, or log in again with another one`,
    )
  }
}

/** Remembers the settings of a login that succeeded, but no pipe, because a later command would wait for its writer. */
export async function saveSettings(storage: TokenStorage, name: string, settings: Settings): Promise<void> {
  const { clientSecretFile: file } = settings
  const isPipe = file !== undefined && attempt(() => statSync(file))?.isFile() === false
  if (isPipe)
    process.stderr.write(
      'agent-auth: --client-secret-file is no regular file, so it is not remembered. Log in again when the access token has expired, or set AGENT_CLIENT_ID and AGENT_CLIENT_SECRET\n',
    )
  await storage.setItem(keyOf(name), JSON.stringify({ ...settings, clientSecretFile: isPipe ? undefined : file }))
}

async function readSettings(storage: TokenStorage, name: string): Promise<Settings | undefined> {
  return parseObject((await storage.getItem(keyOf(name))) ?? '') as Settings | undefined
}

function keyOf(name: string): string {
  return `agent-auth:profile:${name}`
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '')
}
