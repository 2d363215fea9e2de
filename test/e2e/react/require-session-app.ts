import { type BrowserAuth, createBrowserAuth } from 'agent-auth/browser'
import { AuthProvider, RequireSession, type SessionFallbackProps, useAuth } from 'agent-auth/react'
import { createElement, type ReactElement, StrictMode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import type { PageConfig } from '../../browser/kinds.ts'

// A protected page in React's development mode, which takes the place of the test app. `?to=` sets `returnTo`; with `?door` a
// click opens it.

declare global {
  interface Window {
    protectedAuth: BrowserAuth
  }
}

const config = JSON.parse(document.querySelector('#config')?.textContent ?? '') as PageConfig
const auth = createBrowserAuth({ ...config, redirectUri: `${location.origin}/memory/callback` })
window.protectedAuth = auth
const search = new URLSearchParams(location.search)
const returnTo = search.get('to') ?? undefined

function Protected(): ReactElement {
  const { signOut } = useAuth()
  return createElement('button', { id: 'out', type: 'button', onClick: () => void signOut() }, 'protected')
}

function Fallback({ status, error, signIn }: SessionFallbackProps): ReactElement {
  const shown = [status, (error as { code?: string } | undefined)?.code].filter(Boolean).join(' ')
  return createElement('button', { id: 'in', type: 'button', onClick: signIn }, shown)
}

function Page(): ReactElement {
  const [isOpen, setIsOpen] = useState(!search.has('door'))
  const { status } = useAuth().state
  if (isOpen) return createElement(RequireSession, { fallback: Fallback, returnTo }, createElement(Protected))
  return createElement('button', { id: 'door', type: 'button', onClick: () => setIsOpen(true) }, status)
}

const root = document.createElement('main')
document.body.append(root)
createRoot(root).render(createElement(StrictMode, null, createElement(AuthProvider, { auth }, createElement(Page))))
