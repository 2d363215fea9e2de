import type { BrowserAuth } from 'agent-auth/browser'
import { AuthProvider, useAuth } from 'agent-auth/react'
import { createElement, type ReactElement, version } from 'react'
import { renderToString } from 'react-dom/server'
import { reactView } from '../e2e/react/react-view.ts'

// Rendering on a server, bundled for each React by react-versions.ts.

function Status(): ReactElement {
  const { state, claims, error } = useAuth()
  const shown = [state.status, state.expiresAtMs ?? '', claims?.subject ?? '', error === undefined ? '' : 'failed']
  return createElement('p', null, ...shown)
}

export const reactVersion: string = version

export const render = (auth: BrowserAuth): string =>
  renderToString(createElement(AuthProvider, { auth }, createElement(Status)))

export const renderWithoutProvider = (): string => renderToString(createElement(Status))

/** What the page of test/browser/hydration-app.ts takes over. */
export const renderView = (auth: BrowserAuth): string => renderToString(reactView(auth))
