/** @jsxImportSource react */
import { createBrowserAuth, indexedDbStorage } from 'agent-auth/browser'
import { AuthProvider, RequireSession, useAuth } from 'agent-auth/react'
import { type ReactElement, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { createBrowserRouter, Link, Outlet, useLoaderData } from 'react-router'
import { RouterProvider } from 'react-router/dom'
import { countAgents } from './agents'
import { Door } from './door'
import { settings } from './settings'

const auth = createBrowserAuth({
  ...settings,
  redirectUri: `${location.origin}/callback`,
  storage: indexedDbStorage(),
  navigate: (path) => void router.navigate(path, { replace: true }), // the return path
})

async function loadAgents(): Promise<number | undefined> {
  const { status } = await auth.session.ready()
  if (status === 'signed-in') return countAgents(auth.fetch) // otherwise RequireSession starts the login
}

function Agents(): ReactElement {
  const count = useLoaderData<typeof loadAgents>()
  const { signOut } = useAuth()
  return (
    <button type="button" onClick={() => void signOut()}>
      {count} agents, sign out
    </button>
  )
}

const router = createBrowserRouter([
  { path: '/', element: <Link to="/agents?page=2#list">Agents</Link> },
  {
    element: (
      <RequireSession fallback={Door}>
        <Outlet />
      </RequireSession>
    ),
    children: [
      { path: '/callback', element: <Link to="/">Continue</Link> },
      { path: '/agents', loader: loadAgents, element: <Agents /> },
    ],
  },
])

createRoot(document.querySelector('#root') as Element).render(
  <StrictMode>
    <AuthProvider auth={auth}>
      <RouterProvider router={router} />
    </AuthProvider>
  </StrictMode>,
)
