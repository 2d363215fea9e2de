import { createBackendClient } from 'agent-auth/backend/client'
import { AuthProvider, useAuth } from 'agent-auth/react'
import type { ReactElement } from 'react'
import { Links, Meta, Outlet, Scripts } from 'react-router'

const auth = createBackendClient()

export default function Root(): ReactElement {
  return (
    <html lang="en">
      <head>
        <Meta />
        <Links />
        <link rel="icon" href="data:," />
      </head>
      <body>
        <AuthProvider auth={auth}>
          <User />
          <Outlet />
        </AuthProvider>
        <Scripts />
      </body>
    </html>
  )
}

function User(): ReactElement | null {
  const { state, claims, signIn, signOut } = useAuth()
  if (state.status === 'loading') return null
  const [label, act] =
    state.status === 'signed-in'
      ? (['Sign out', () => signOut().then(() => location.assign('/'))] as const)
      : (['Sign in', () => signIn({ returnTo: '/models' })] as const)
  return (
    <>
      {claims && <p>{String(claims.claims.name)}</p>}
      <button type="button" onClick={() => void act()}>
        {label}
      </button>
    </>
  )
}
