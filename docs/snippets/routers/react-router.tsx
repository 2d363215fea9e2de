/** @jsxImportSource react */
import { AuthProvider, RequireSession } from 'agent-auth/react'
import { type ReactElement, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import {
  createBrowserRouter,
  Link,
  Outlet,
  RouterProvider,
  useLoaderData,
  useRevalidator,
  useRouteError,
} from 'react-router'
import { AgentList, Failure } from './agent-list'
import { loadAgents } from './api'
import { auth, onUserChange, returnPath } from './auth'
import { Door } from './door'

function Agents(): ReactElement {
  return <AgentList agents={useLoaderData<typeof loadAgents>()} />
}

function AgentsFailure(): ReactElement {
  return <Failure error={useRouteError()} retry={useRevalidator().revalidate} />
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
      {
        path: '/agents',
        loader: loadAgents,
        element: <Agents />,
        hydrateFallbackElement: <p>One moment …</p>, // while the first load runs
        errorElement: <AgentsFailure />,
      },
    ],
  },
])
returnPath.show = (path) => void router.navigate(path, { replace: true })
onUserChange(() => void router.revalidate()) // the router keeps the data of the last user until then

createRoot(document.querySelector('#root') as Element).render(
  <StrictMode>
    <AuthProvider auth={auth}>
      <RouterProvider router={router} />
    </AuthProvider>
  </StrictMode>,
)
