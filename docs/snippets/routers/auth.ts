import { type BrowserAuth, createBrowserAuth, indexedDbStorage } from 'agent-auth/browser'
import { settings } from './settings'

/** Shows the page that the user asked for. A router replaces `show` with its own navigation, because it imports this module. */
export const returnPath: { show(path: string): void } = {
  show: (path) => history.replaceState(null, '', path),
}

export const auth: BrowserAuth = createBrowserAuth({
  ...settings,
  redirectUri: `${location.origin}/callback`,
  storage: indexedDbStorage(),
  navigate: (path) => returnPath.show(path),
})

/** Calls the listener if the user has signed out, or another user has signed in, also in another tab. */
export function onUserChange(listener: () => void): void {
  let before = auth.session.state
  auth.session.subscribe(() => {
    const { status, sessionRef } = before
    before = auth.session.state
    if (status !== 'loading' && sessionRef !== before.sessionRef) listener()
  })
}
