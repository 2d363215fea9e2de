/** @jsxImportSource react */
import type { ParentAgent } from 'agent-auth/api'
import { AuthProvider, RequireSession, useAuth } from 'agent-auth/react'
import { type ReactElement, StrictMode, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { BrowserRouter, Link, Outlet, Route, Routes } from 'react-router'
import { AgentList } from './agent-list'
import { findAgents } from './api'
import { auth } from './auth'
import { Door } from './door'

function Agents(): ReactElement {
  const [agents, setAgents] = useState<readonly ParentAgent[]>([])
  useEffect(() => {
    findAgents().then(setAgents, () => setAgents([]))
  }, [])
  return <AgentList agents={agents} />
}

/** The key makes new components, with no data of the last user, when another user signs in. */
function Pages(): ReactElement {
  return <Outlet key={useAuth().state.sessionRef} />
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
                <Pages />
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
