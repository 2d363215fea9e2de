/** @jsxImportSource react */
import { createRootRoute, createRoute, createRouter, Link, Outlet, RouterProvider } from '@tanstack/react-router'
import { AuthProvider, RequireSession } from 'agent-auth/react'
import { type ReactElement, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { AgentList, Failure } from './agent-list'
import { loadAgents } from './api'
import { auth, onUserChange, returnPath } from './auth'
import { Door } from './door'

function Agents(): ReactElement {
  return <AgentList agents={agentsRoute.useLoaderData()} />
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
  loader: loadAgents,
  component: Agents,
  errorComponent: ({ error }) => <Failure error={error} retry={() => router.invalidate()} />,
})

const router = createRouter({
  routeTree: rootRoute.addChildren([homeRoute, protectedRoute.addChildren([callbackRoute, agentsRoute])]),
})
returnPath.show = (path) => router.history.replace(path)
onUserChange(() => void router.invalidate()) // the router keeps the data of the last user until then

createRoot(document.querySelector('#root') as Element).render(
  <StrictMode>
    <AuthProvider auth={auth}>
      <RouterProvider router={router} />
    </AuthProvider>
  </StrictMode>,
)
