import { createBackendClient } from 'agent-auth/backend/client'
import { createBrowserAuth, webStorage } from 'agent-auth/browser'
import { AuthProvider, useAuth } from 'agent-auth/react'
import type { ReactElement } from 'react'

const auth = createBrowserAuth({
  authUrl: 'https://auth.demo.example',
  baseUrl: 'https://api.demo.example',
  clientId: 'client',
  redirectUri: 'https://app.demo.example/callback',
  storage: webStorage(() => sessionStorage),
})

function Door(): ReactElement {
  const { state, signIn } = useAuth()
  return (
    <button type="button" onClick={() => void signIn()}>
      {state.status}
    </button>
  )
}

export const page: ReactElement = (
  <AuthProvider auth={auth}>
    <Door />
  </AuthProvider>
)
export const client = createBackendClient()
