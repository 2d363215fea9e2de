/** The settings of the app: the service, its registration there, and its own address. */
export interface Settings {
  readonly authUrl: string
  readonly baseUrl: string
  /** Where the backend gets tokens, if it reaches the service by another name than browsers do. */
  readonly tokenEndpoint: string | undefined
  /** Host names that may have http, on a network of containers. */
  readonly allowHttpHosts: readonly string[]
  readonly clientId: string
  readonly clientSecret: string
  /** The origin of the app in browsers. Its redirect URI is `{origin}/auth/callback`. */
  readonly origin: string
  /** The address to listen on. */
  readonly host: string
  readonly port: number
  readonly cookieSecrets: readonly string[]
}

/**
 * Reads the variables that `agent-service --dev` prints, and `COOKIE_SECRET` (several with commas between them, the newest
 * first), `HOST` (default 127.0.0.1), `PORT` (default 3000) and `APP_ORIGIN` (default: 127.0.0.1 at that port). In a network of
 * containers also `AGENT_TOKEN_ENDPOINT` and `AGENT_ALLOW_HTTP_HOSTS`. Throws if one is missing.
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
    tokenEndpoint: env.AGENT_TOKEN_ENDPOINT,
    allowHttpHosts: env.AGENT_ALLOW_HTTP_HOSTS?.split(',') ?? [],
    clientId: read('AGENT_CLIENT_ID'),
    clientSecret: read('AGENT_CLIENT_SECRET'),
    origin: env.APP_ORIGIN ?? `http://127.0.0.1:${port}`,
    host: env.HOST ?? '127.0.0.1',
    port,
    cookieSecrets: read('COOKIE_SECRET').split(','),
  }
}
