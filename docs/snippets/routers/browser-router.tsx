/** @jsxImportSource react */
import { createBrowserAuth, indexedDbStorage } from 'agent-auth/browser'
import { AuthProvider, RequireSession, useAuth } from 'agent-auth/react'
import { type ReactElement, StrictMode, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { BrowserRouter, Link, Outlet, Route, Routes } from 'react-router'
import { countAgents } from './agents'
import { Door } from './door'
import { settings } from './settings'

const auth = createBrowserAuth({
  ...settings,
  redirectUri: `${location.origin}/callback`,
  storage: indexedDbStorage(),
})

function Agents(): ReactElement {
  const { fetch, signOut } = useAuth()
  const [count, setCount] = useState<number>()
  useEffect(() => {
    countAgents(fetch).then(setCount, () => setCount(undefined))
  }, [fetch])
  return (
    <button type="button" onClick={() => void signOut()}>
      {count} agents, sign out
    </button>
  )
}

const app = (
  <StrictMode>
    <AuthProvider auth={auth}>
      <BrowserRouter>
        <Routes>
          <Route path="/" element={<Link to="/agents?page=2#list">Agents</Link>} />
          <Route
            element={
              <RequireSession fallback={Door}>
                <Outlet />
              </RequireSession>
            }
          >
            <Route path="/callback" element={<Link to="/">Continue</Link>} />
            <Route path="/agents" element={<Agents />} />
          </Route>
        </Routes>
      </BrowserRouter>
    </AuthProvider>
  </StrictMode>
)

// BrowserRouter reads the address when it starts, and ready() has put the return path there by then.
const show = (): void => createRoot(document.querySelector('#root') as Element).render(app)
auth.ready().then(show, show) // AuthProvider reports the error
