/** @jsxImportSource react */
import { createRootRoute, createRoute, createRouter, Link, Outlet, RouterProvider } from '@tanstack/react-router'
import { createBrowserAuth, indexedDbStorage } from 'agent-auth/browser'
import { AuthProvider, RequireSession, useAuth } from 'agent-auth/react'
import { type ReactElement, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { countAgents } from './agents'
import { Door } from './door'
import { settings } from './settings'

const auth = createBrowserAuth({
  ...settings,
  redirectUri: `${location.origin}/callback`,
  storage: indexedDbStorage(),
  navigate: (path) => router.history.replace(path), // the return path
})

function Agents(): ReactElement {
  const count = agentsRoute.useLoaderData()
  const { signOut } = useAuth()
  return (
    <button type="button" onClick={() => void signOut()}>
      {count} agents, sign out
    </button>
  )
}

const rootRoute = createRootRoute()
const homeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  component: () => (
    <Link to="/agents" search={{ page: 2 }} hash="list">
      Agents
    </Link>
  ),
})
const protectedRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'protected',
  component: () => (
    <RequireSession fallback={Door}>
      <Outlet />
    </RequireSession>
  ),
})
const callbackRoute = createRoute({
  getParentRoute: () => protectedRoute,
  path: '/callback',
  component: () => <Link to="/">Continue</Link>,
})
const agentsRoute = createRoute({
  getParentRoute: () => protectedRoute,
  path: '/agents',
  validateSearch: ({ page }): { page?: number } => ({ page: Number(page) || 1 }),
  async loader(): Promise<number | undefined> {
    const { status } = await auth.session.ready()
    if (status === 'signed-in') return countAgents(auth.fetch) // otherwise RequireSession starts the login
  },
  component: Agents,
})

const router = createRouter({
  routeTree: rootRoute.addChildren([homeRoute, protectedRoute.addChildren([callbackRoute, agentsRoute])]),
})

createRoot(document.querySelector('#root') as Element).render(
  <StrictMode>
    <AuthProvider auth={auth}>
      <RouterProvider router={router} />
    </AuthProvider>
  </StrictMode>,
)
