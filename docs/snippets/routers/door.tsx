/** @jsxImportSource react */
import type { SessionFallbackProps } from 'agent-auth/react'
import type { ReactElement } from 'react'

/** Shown in place of a protected page. */
export function Door({ status, signIn }: SessionFallbackProps): ReactElement {
  if (status === 'loading') return <p>One moment …</p>
  return (
    <p role="alert">
      {status === 'failed' ? 'The login did not succeed.' : 'You are signed out.'}{' '}
      <button type="button" onClick={signIn}>
        Sign in
      </button>
    </p>
  )
}
