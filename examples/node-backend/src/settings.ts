/** What the environment says of the service, of this app's registration there, and of where the app is. */
export interface Settings {
  readonly authUrl: string
  readonly baseUrl: string
  readonly clientId: string
  readonly clientSecret: string
  /** Where browsers find the app; its redirect URI is `{origin}/auth/callback`. */
  readonly origin: string
  /** Where to listen on 127.0.0.1. */
  readonly port: number
  readonly cookieSecrets: readonly string[]
}

/**
 * From the variables that `agent-service --dev` prints, and `COOKIE_SECRET` (several with commas between them, the newest
 * first), `PORT` (default 3000) and `APP_ORIGIN` (default this machine at that port).
 */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const read = (name: string): string => {
    const value = env[name]
    if (!value) throw new Error(`Set ${name}.`)
    return value
  }
  const port = Number(env.PORT ?? 3_000)
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
