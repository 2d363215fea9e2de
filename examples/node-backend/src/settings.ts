/** The settings of the app: the service, its registration there, and its own address. */
export interface Settings {
  readonly authUrl: string
  readonly baseUrl: string
  readonly clientId: string
  readonly clientSecret: string
  /** The origin of the app in browsers. Its redirect URI is `{origin}/auth/callback`. */
  readonly origin: string
  /** The port of 127.0.0.1 to listen on. */
  readonly port: number
  readonly cookieSecrets: readonly string[]
}

/**
 * Reads the variables that `agent-service --dev` prints, and `COOKIE_SECRET` (several with commas between them, the newest
 * first), `PORT` (default 3000) and `APP_ORIGIN` (default: 127.0.0.1 at that port). Throws if one is missing.
 */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const read = (name: string): string => {
    const value = env[name]
    if (!value) throw new Error(`Set ${name}: agent-service --env node prints it, and node --env-file=.env reads it.`)
    return value
  }
  const port = Number(env.PORT ?? 3_000)
  if (!(Number.isInteger(port) && port > 0 && port < 65_536)) throw new Error('Set PORT to a number from 1 to 65535.')
  return {
    authUrl: read('AGENT_AUTH_URL'),
    baseUrl: read('AGENT_BASE_URL'),
    clientId: read('AGENT_CLIENT_ID'),
    clientSecret: read('AGENT_CLIENT_SECRET'),
    origin: env.APP_ORIGIN ?? `http://127.0.0.1:${port}`,
    port,
    cookieSecrets: read('COOKIE_SECRET').split(','),
  }
}
