import { type BrowserAuth, createBrowserAuth, popupLogin } from 'agent-auth/browser'
import { AuthProvider, useAuth } from 'agent-auth/react'
import { createElement, type ReactElement, StrictMode, useEffect } from 'react'
import { createRoot } from 'react-dom/client'
import type { PageConfig } from './kinds.ts'

// A React app in development mode that takes the place of the test app; `?guard` makes this tab sign in by itself.

declare global {
  interface Window {
    react: { readonly auth: BrowserAuth; readonly rendered: string[] }
  }
}

const config = JSON.parse(document.querySelector('#config')?.textContent ?? '') as PageConfig
if (location.search === '?guard') sessionStorage.setItem('guard', 'on')
const auth = createBrowserAuth({ ...config, redirectUri: `${location.origin}/memory/callback`, popup: popupLogin() })
const rendered: string[] = []
window.react = { auth, rendered }

function App(): ReactElement {
  const { state, error, signIn } = useAuth()
  const { status } = state
  const shown = [status, ...(error ? [String((error as { code?: unknown }).code)] : [])].join(' ')
  if (rendered.at(-1) !== shown) rendered.push(shown)
  useEffect(() => {
    if (sessionStorage.getItem('guard') && status === 'signed-out' && !error) signIn().catch(() => {})
  }, [status, error, signIn])
  const open = (): void => void signIn({ mode: 'popup' })
  return createElement('button', { id: 'window', type: 'button', onClick: open }, shown)
}

const root = document.createElement('div')
document.body.append(root)
createRoot(root).render(createElement(StrictMode, null, createElement(AuthProvider, { auth }, createElement(App))))
