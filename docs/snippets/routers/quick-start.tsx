/** @jsxImportSource react */
import { createBrowserAuth, indexedDbStorage } from 'agent-auth/browser'
import { AuthProvider, RequireSession, useAuth } from 'agent-auth/react'
import { userText } from 'agent-auth/texts'
import { type ReactElement, StrictMode, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { createBrowserRouter, Link, Outlet, RouterProvider } from 'react-router'
import { Door } from './door'

const auth = createBrowserAuth({
  authUrl: import.meta.env.VITE_AGENT_AUTH_URL ?? '',
  baseUrl: import.meta.env.VITE_AGENT_BASE_URL ?? '',
  clientId: import.meta.env.VITE_AGENT_PUBLIC_CLIENT_ID ?? '',
  redirectUri: `${location.origin}/callback`,
  storage: indexedDbStorage(),
  navigate: (path) => void router.navigate(path, { replace: true }), // back to the page that the user asked for
})

async function countOf(response: Response): Promise<string> {
  if (!response.ok) return `The API responded with ${response.status}.`
  const { data } = (await response.json()) as { data: { count: number } }
  return `${data.count} models`
}

function Models(): ReactElement {
  const { fetch, signOut } = useAuth()
  const [text, setText] = useState('…')
  useEffect(() => {
    const headers = { 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: '{"limit":1,"offset":0}' }
    fetch('/api/llm_models/search', request)
      .then(countOf)
      .then(setText)
      .catch((error: unknown) => setText(userText(error).text))
  }, [fetch])
  // An alert, because this component is no longer shown by then: a failed sign-out ends the session of the page too.
  const leave = (): Promise<void> => signOut().catch((error: unknown) => alert(userText(error).text))
  return (
    <p>
      {text}{' '}
      <button type="button" onClick={leave}>
        Sign out
      </button>
    </p>
  )
}

/** The key makes new components, with no data of the last user, when another user signs in. */
function Pages(): ReactElement {
  return <Outlet key={useAuth().state.sessionRef} />
}

const router = createBrowserRouter([
  { path: '/', element: <Link to="/models">Models</Link> },
  {
    element: (
      <RequireSession fallback={Door}>
        <Pages />
      </RequireSession>
    ),
    children: [
      { path: '/callback', element: <Link to="/">Continue</Link> },
      { path: '/models', element: <Models /> },
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
