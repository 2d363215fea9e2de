import { type BrowserAuth, createBrowserAuth, indexedDbStorage, popupLogin } from 'agent-auth/browser'
import { readSettings } from 'example-common/settings.ts'

export const auth: BrowserAuth = createBrowserAuth({
  ...readSettings(import.meta.env),
  redirectUri: `${location.origin}/callback`,
  storage: indexedDbStorage(),
  popup: popupLogin(),
})
