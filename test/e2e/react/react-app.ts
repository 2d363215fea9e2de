import { type BrowserAuth, createBrowserAuth, popupLogin } from 'agent-auth/browser'
import { AuthProvider, useAuth } from 'agent-auth/react'
import { createElement, type ReactElement, StrictMode, useEffect } from 'react'
import { createRoot } from 'react-dom/client'
import type { PageConfig } from '../../browser/kinds.ts'

// A React app in development mode that takes the place of the test app; `?guard` makes this tab sign in by itself.

declare global {
  interface Window {
    react: {
      readonly auth: BrowserAuth
      readonly rendered: string[]
      /** What came of the call a component makes when it is mounted, before the provider's own effect. */
      readonly calls: string[]
    }
  }
}

const config = JSON.parse(document.querySelector('#config')?.textContent ?? '') as PageConfig
if (location.search === '?guard') sessionStorage.setItem('guard', 'on')
const auth = createBrowserAuth({ ...config, redirectUri: `${location.origin}/memory/callback`, popup: popupLogin() })
const rendered: string[] = []
window.react = { auth, rendered, calls: [] }

function App(): ReactElement {
  const { state, error, signIn, fetch } = useAuth()
  const { status } = state
  const shown = [status, ...(error ? [String((error as { code?: unknown }).code)] : [])].join(' ')
  if (rendered.at(-1) !== shown) rendered.push(shown)
  useEffect(() => {
    if (sessionStorage.getItem('guard') && status === 'signed-out' && !error) signIn().catch(() => {})
  }, [status, error, signIn])
  useEffect(() => {
    const headers = { 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: '{"limit":1,"offset":0}' }
    fetch('/api/llm_models/search', request).then(
      (answer) => window.react.calls.push(String(answer.status)),
      ({ code }) => window.react.calls.push(String(code)),
    )
  }, [fetch])
  const open = (): void => void signIn({ mode: 'popup' })
  return createElement('button', { id: 'window', type: 'button', onClick: open }, shown)
}

const root = document.createElement('div')
document.body.append(root)
createRoot(root).render(createElement(StrictMode, null, createElement(AuthProvider, { auth }, createElement(App))))
