import type { BrowserAuth } from 'agent-auth/browser'
import { AuthProvider, useAuth } from 'agent-auth/react'
import { createElement, type ReactElement, StrictMode } from 'react'

interface AppProps {
  /** Hears what is shown. */
  readonly onShow: (text: string) => void
}

function App({ onShow }: AppProps): ReactElement {
  const { state, error, signIn, signOut } = useAuth()
  const failure = error === undefined ? '' : String((error as { code?: string }).code)
  const shown = [state.status, failure].filter((word) => word !== '').join(' ')
  onShow(shown)
  return createElement(
    'main',
    null,
    createElement('p', null, shown),
    createElement('button', { type: 'button', id: 'in', onClick: () => void signIn() }, 'in'),
    createElement('button', { type: 'button', id: 'out', onClick: () => void signOut() }, 'out'),
  )
}

/** The same on the server and in the page. */
export function reactView(auth: BrowserAuth, onShow: AppProps['onShow'] = () => {}): ReactElement {
  return createElement(StrictMode, null, createElement(AuthProvider, { auth }, createElement(App, { onShow })))
}
