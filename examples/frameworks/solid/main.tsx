import { A, Route, Router, type RouteSectionProps } from '@solidjs/router'
import { createAuthSignal } from 'agent-auth/solid'
import { userText } from 'agent-auth/texts'
import { createResource, type JSX, Show } from 'solid-js'
import { render } from 'solid-js/web'
import { auth } from './auth'
import { countModels } from './models'
import { Protected } from './protected'

function App(props: RouteSectionProps): JSX.Element {
  const user = createAuthSignal(auth)
  return (
    <>
      <Show when={user().error}>{(error) => <p role="alert">{userText(error()).text}</p>}</Show>
      <Show when={user().state.status === 'signed-in'}>
        <p>{String(user().claims?.claims.name)}</p>
        <button type="button" onClick={() => auth.signOut()}>
          Sign out
        </button>
      </Show>
      <Show when={user().state.status === 'signed-out'}>
        <button type="button" onClick={() => auth.signIn()}>
          Sign in
        </button>
      </Show>
      <A href="/models">Models</A>
      {props.children}
    </>
  )
}

function Models(): JSX.Element {
  const [text] = createResource(() => countModels().catch(String))
  return <p>{text()}</p>
}

await auth.ready().catch(() => {}) // shows the page that the user asked for, before the router reads the address
render(
  () => (
    <Router root={App}>
      <Route path="/" component={Protected}>
        <Route path="/models" component={Models} />
      </Route>
      <Route path="*" />
    </Router>
  ),
  document.querySelector('#app') as Element,
)
