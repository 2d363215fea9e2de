/** What the environment says of the service and of this app's registration there; see the `.env` that agent-service prints. */
export interface Settings {
  readonly authUrl: string
  readonly baseUrl: string
  readonly clientId: string
}

/** From `VITE_AGENT_AUTH_URL`, `VITE_AGENT_BASE_URL` and `VITE_AGENT_PUBLIC_CLIENT_ID`. */
export function readSettings(env: Readonly<Record<string, unknown>>): Settings {
  const read = (name: string): string => {
    const value = env[name]
    if (typeof value !== 'string' || !value)
      throw new Error(`Set ${name} before building: agent-service --env vite prints it.`)
    return value
  }
  return {
    authUrl: read('VITE_AGENT_AUTH_URL'),
    baseUrl: read('VITE_AGENT_BASE_URL'),
    clientId: read('VITE_AGENT_PUBLIC_CLIENT_ID'),
  }
}
