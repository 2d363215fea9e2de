import { type AgentApi, createAgentApi } from 'agent-auth/api'
import { type BrowserAuth, createBrowserAuth, indexedDbStorage, popupLogin } from 'agent-auth/browser'
import { readSettings } from 'example-common/settings.ts'

const settings = readSettings(import.meta.env)

export const auth: BrowserAuth = createBrowserAuth({
  ...settings,
  redirectUri: `${location.origin}/callback`,
  storage: indexedDbStorage(),
  popup: popupLogin(),
})

export const api: AgentApi = createAgentApi({ baseUrl: settings.baseUrl, fetch: auth.fetch })
