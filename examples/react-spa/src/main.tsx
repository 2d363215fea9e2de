/** @jsxImportSource react */
import 'example-common/style.css'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { AuthProvider } from 'agent-auth/react'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { auth } from './auth.ts'

// The library waits and retries by itself where that helps.
const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } })

// What one person saw must not be shown to the next.
let shown: string | undefined
auth.session.subscribe(() => {
  const { sessionRef } = auth.session.state
  if (sessionRef !== shown) queries.clear()
  shown = sessionRef
})

const root = document.getElementById('root')
if (root)
  createRoot(root).render(
    <StrictMode>
      <AuthProvider auth={auth}>
        <QueryClientProvider client={queries}>
          <App />
        </QueryClientProvider>
      </AuthProvider>
    </StrictMode>,
  )
