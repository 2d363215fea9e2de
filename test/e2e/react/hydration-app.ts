import { type BrowserAuth, createBrowserAuth, indexedDbStorage } from 'agent-auth/browser'
import { version } from 'react'
import { hydrateRoot } from 'react-dom/client'
import type { PageConfig } from '../../browser/kinds.ts'
import { reactView } from './react-view.ts'

// The app that test/browser/react-hydration.test.ts opens: takes over what its server has rendered, in StrictMode.

declare global {
  interface Window {
    reactApp: { readonly auth: BrowserAuth; readonly version: string; readonly seen: string[] }
  }
}

const config = JSON.parse(document.querySelector('#config')?.textContent ?? '') as PageConfig
const auth = createBrowserAuth({
  ...config,
  redirectUri: `${location.origin}/indexed/callback`,
  storage: indexedDbStorage(),
})
const seen: string[] = []
window.reactApp = { auth, version, seen }

const note = (text: string): void => {
  if (seen.at(-1) !== text) seen.push(text)
}

const root = document.querySelector('#root')
if (root) hydrateRoot(root, reactView(auth, note))
