/** @jsxImportSource react */
import { createBrowserAuth } from 'agent-auth/browser'
import { AuthProvider, RequireSession, type SessionFallbackProps } from 'agent-auth/react'
import { testService } from 'agent-auth/testing'
import type { ReactElement } from 'react'
import { createRoot } from 'react-dom/client'
import { createMemoryRouter, Outlet, RouterProvider } from 'react-router'
import { afterAll, expect, test } from 'vitest' // in the environment jsdom or happy-dom

const service = await testService({ after: afterAll })

function Door({ status }: SessionFallbackProps): ReactElement {
  return <p>{status}</p>
}

const routes = [
  {
    element: (
      <RequireSession fallback={Door}>
        <Outlet />
      </RequireSession>
    ),
    children: [{ path: '/agents', element: <h1>Agents</h1> }],
  },
]

test('a protected route is shown to a signed-in user, and not after the sign-out', async () => {
  const auth = createBrowserAuth({ ...service.options, redirectUri: `${location.origin}/callback` })
  await auth.session.signIn(await service.login())
  const element = document.body.appendChild(document.createElement('main'))
  const root = createRoot(element)
  const router = createMemoryRouter(routes, { initialEntries: ['/agents'] })
  root.render(
    <AuthProvider auth={auth}>
      <RouterProvider router={router} />
    </AuthProvider>,
  )
  await expect.poll(() => element.textContent).toBe('Agents')
  await auth.signOut()
  await expect.poll(() => element.textContent).toBe('signed-out')
  root.unmount()
  element.remove()
  auth.close()
})
