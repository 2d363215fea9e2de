/** @jsxImportSource react */
import type { ParentAgent } from 'agent-auth/api'
import { useAuth } from 'agent-auth/react'
import { userText } from 'agent-auth/texts'
import type { ReactElement } from 'react'

export function AgentList({ agents }: { agents: readonly ParentAgent[] }): ReactElement {
  const { signOut } = useAuth()
  // An alert, because this component is no longer shown by then: a failed sign-out ends the session of the page too.
  const leave = (): Promise<void> => signOut().catch((error: unknown) => alert(userText(error).text))
  return (
    <>
      <ul>
        {agents.map(({ id, agent_name }) => (
          <li key={id}>{agent_name}</li>
        ))}
      </ul>
      <button type="button" onClick={leave}>
        Sign out
      </button>
    </>
  )
}

/** Shown in place of a list that could not be read. */
export function Failure({ error, retry }: { error: unknown; retry: () => unknown }): ReactElement {
  return (
    <p role="alert">
      {userText(error).text}{' '}
      <button type="button" onClick={() => void retry()}>
        Try again
      </button>
    </p>
  )
}
