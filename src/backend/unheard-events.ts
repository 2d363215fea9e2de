import { isLoopback } from '../config/service-url.ts'
import type { ErrorCause } from './error-cause.ts'
import type { BackendEvent } from './events.ts'

/**
 * Returns the listener of a backend without `onEvent`. On loopback it prints one line for the first failure that has a cause or is
 * `invalid_client`, and for each setup problem before it, because the developer sees only a 404, 502 or 503 otherwise. Events hold
 * no secrets.
 */
export function unheardEvents(redirectUri: string): (event: BackendEvent) => void {
  let isSilent = !isLoopback(new URL(redirectUri).hostname)
  return (event) => {
    const cause = 'cause' in event && event.cause ? event.cause : refusedClient(event)
    if (isSilent || !cause) return
    // A setup problem does not end the output, because each is emitted once and a failure after it is another one.
    isSilent = event.type !== 'setup_problem'
    const { message, code, name, stack = [] }: Partial<ErrorCause> = cause
    const what = message ?? [code ?? name, ...stack.slice(0, 1)].join(' ')
    // biome-ignore lint/suspicious/noConsole: a developer reads the console if a request fails, and no call of the app can reject with this.
    console.warn(`agent-auth: ${event.type}: ${what} Set onEvent to receive every event.`)
  }
}

/** Returns a cause for a login whose client the token endpoint refused. Such an event has none, because there was a response. */
function refusedClient(event: BackendEvent): ErrorCause | undefined {
  if (event.type !== 'login_failed' || event.error !== 'invalid_client') return undefined
  const message = 'The token endpoint responded with invalid_client. Check clientId and clientSecret.'
  return { name: 'AgentAuthError', code: event.code, message }
}
