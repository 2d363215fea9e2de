/** @jsxImportSource react */
import { useAuth } from 'agent-auth/react'
import { errorText } from 'example-common/error-text.ts'
import { type ReactElement, useState } from 'react'

export interface ProblemProps {
  readonly error: unknown
  readonly again?: () => void
}

/** Says what failed, and offers what helps. */
export function Problem({ error, again }: ProblemProps): ReactElement {
  const { signIn } = useAuth()
  const [failure, setFailure] = useState<unknown>()
  // What came of the way out that was offered is news.
  const { title, text, action } = errorText(failure ?? error)
  return (
    <div className="problem" role="alert">
      <strong>{title}</strong>
      <p>{text}</p>
      {action === 'retry' && again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
      {action === 'sign-in' && (
        <button type="button" onClick={() => void signIn().catch(setFailure)}>
          Sign in
        </button>
      )}
    </div>
  )
}
