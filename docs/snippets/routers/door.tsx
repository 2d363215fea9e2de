/** @jsxImportSource react */
import type { SessionFallbackProps } from 'agent-auth/react'
import { userText } from 'agent-auth/texts'
import type { ReactElement } from 'react'

/** Shown in place of a protected page. */
export function Door({ status, error, signIn }: SessionFallbackProps): ReactElement {
  if (status === 'loading') return <p>One moment …</p>
  const failure = status === 'failed' ? userText(error) : undefined
  return (
    <p role="alert">
      {failure?.text ?? 'You are signed out.'}{' '}
      {failure?.action !== 'none' && (
        <button type="button" onClick={signIn}>
          {failure?.action === 'retry' ? 'Try again' : 'Sign in'}
        </button>
      )}
    </p>
  )
}
