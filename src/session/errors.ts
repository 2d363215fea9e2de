import { AgentAuthError } from '../errors.ts'

export function loginRequired(): AgentAuthError {
  return new AgentAuthError('login_required', 'No user is signed in. Start a login.')
}

export function sessionChanged(): AgentAuthError {
  return new AgentAuthError(
    'session_changed',
    'Another sign-in replaced this session. Load its data, then repeat the call.',
  )
}

/** Makes the error of a call whose session ended while it waited, or was replaced by another sign-in. */
export function loginRequiredOrChanged({ state }: { readonly state: { readonly status: string } }): AgentAuthError {
  return state.status === 'signed-out' ? loginRequired() : sessionChanged()
}

/** Makes the error of a refused refresh token. `refusal` is the error of the token request, whose `status` and `details` it takes over. */
export function sessionEnded(refusal: AgentAuthError): AgentAuthError {
  return new AgentAuthError('session_ended', 'The service ended the session. Start a login.', refusal)
}

export function recordNotRemoved(): AgentAuthError {
  return new AgentAuthError('storage_failed', 'The record may remain. Call signOut again.', {
    retryable: true,
  })
}

export function lockTimeout(): AgentAuthError {
  return new AgentAuthError('lock_timeout', 'Another tab or process holds the lock. Try again.', { retryable: true })
}
