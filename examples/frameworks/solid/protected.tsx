import { type RouteSectionProps, useLocation, useNavigate } from '@solidjs/router'
import { createAuthSignal } from 'agent-auth/solid'
import { type JSX, onMount, Show } from 'solid-js'
import { auth, requireSession } from './auth'

/** The parent route of protected ones. */
export function Protected(props: RouteSectionProps): JSX.Element {
  const user = createAuthSignal(auth)
  const { pathname, search } = useLocation()
  const navigate = useNavigate()
  onMount(() => requireSession(pathname + search).catch(() => navigate('/')))
  return (
    <Show when={user().state.status === 'signed-in' && user().state.sessionRef} keyed>
      {props.children}
    </Show>
  )
}
