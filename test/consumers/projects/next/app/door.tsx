'use client'

import { createBackendClient } from 'agent-auth/backend/client'
import { AuthProvider, useAuth } from 'agent-auth/react'
import { type ReactElement, useState } from 'react'

function Door(): ReactElement {
  const { state, signIn } = useAuth()
  return (
    <button type="button" onClick={() => void signIn()}>
      {state.status}
    </button>
  )
}

export function Page(): ReactElement {
  const [auth] = useState(() => createBackendClient())
  return (
    <AuthProvider auth={auth}>
      <Door />
    </AuthProvider>
  )
}
