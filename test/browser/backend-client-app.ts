import { type BackendClient, createBackendClient } from 'agent-auth/backend/client'

declare global {
  interface Window {
    page: {
      readonly auth: BackendClient
      /** Whether the browser took this page from its back/forward cache. */
      isRestored: boolean
    }
  }
}

window.page = { auth: createBackendClient(), isRestored: false }
addEventListener('pageshow', ({ persisted }) => {
  window.page.isRestored = persisted
})
