/** @jsxImportSource react */
import type { BrowserAuth } from 'agent-auth/browser'
import { AuthProvider, useAuth } from 'agent-auth/react'
import { type ReactElement, useState } from 'react'

export function Root({ auth }: { auth: BrowserAuth }): ReactElement {
  return (
    <AuthProvider auth={auth}>
      <SignInButton />
    </AuthProvider>
  )
}

function SignInButton(): ReactElement {
  const { state, error, signIn, signOut } = useAuth()
  const [failure, setFailure] = useState<unknown>()
  if (state.status === 'loading' && error === undefined) return <p>One moment …</p>
  const [label, act] = state.status === 'signed-in' ? (['Sign out', signOut] as const) : (['Sign in', signIn] as const)
  return (
    <button type="button" onClick={() => act().catch(setFailure)}>
      {label} {(failure ?? error) !== undefined && '(the last try failed)'}
    </button>
  )
}
