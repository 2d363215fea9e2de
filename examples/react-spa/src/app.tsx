/** @jsxImportSource react */
import { useAuth } from 'agent-auth/react'
import { userName } from 'example-common/user-name.ts'
import type { ReactElement } from 'react'
import { useState } from 'react'
import { Agents } from './agents.tsx'
import { NewAgent } from './new-agent.tsx'
import { Problem } from './problem.tsx'
import { SessionPanel } from './session-panel.tsx'

const reasons = {
  signed_out: 'See you soon.',
  refused: 'Your session has ended. Please sign in again.',
  store_lost: 'You signed out in another tab, or the browser’s data was cleared.',
  expired: 'Your session has run out. Please sign in again.',
}

export function App(): ReactElement {
  const { state, claims, error, signOut } = useAuth()
  const [failure, setFailure] = useState<unknown>()
  const isSignedIn = state.status === 'signed-in'
  const leave = (): void => {
    setFailure(undefined)
    signOut().catch(setFailure)
  }
  return (
    <>
      <header>
        <h1>Agents</h1>
        <span className="quiet">{userName(claims)}</span>
        {isSignedIn && (
          <button type="button" onClick={leave}>
            Sign out
          </button>
        )}
      </header>
      {failure !== undefined && <Problem error={failure} again={leave} />}
      {error !== undefined && <Problem error={error} again={() => location.reload()} />}
      {state.status === 'loading' && <p className="quiet">Looking for your session …</p>}
      {state.status === 'signed-out' && <SignIn reason={state.reason && reasons[state.reason]} />}
      {isSignedIn && (
        <main className="signed-in" key={state.sessionRef}>
          <div className="column">
            <Agents />
            <NewAgent />
          </div>
          <SessionPanel />
        </main>
      )}
    </>
  )
}

function SignIn({ reason }: { reason: string | undefined }): ReactElement {
  const { signIn } = useAuth()
  const [failure, setFailure] = useState<unknown>()
  const start = (mode: 'redirect' | 'popup') => () => {
    setFailure(undefined)
    signIn({ mode }).catch(setFailure)
  }
  return (
    <main>
      {failure !== undefined && <Problem error={failure} />}
      <section>
        <h2>You are signed out</h2>
        <p className="quiet">{reason}</p>
        <div className="buttons">
          <button className="first" type="button" onClick={start('redirect')}>
            Sign in
          </button>
          <button type="button" onClick={start('popup')}>
            Sign in in a window
          </button>
        </div>
      </section>
    </main>
  )
}
