/** Vite reads these variables from the file `.env`. */
export const settings: Record<'authUrl' | 'baseUrl' | 'clientId', string> = {
  authUrl: import.meta.env.VITE_AGENT_AUTH_URL ?? '',
  baseUrl: import.meta.env.VITE_AGENT_BASE_URL ?? '',
  clientId: import.meta.env.VITE_AGENT_PUBLIC_CLIENT_ID ?? '',
}
