import type { AuthConfig } from '../config.ts'
import { AgentAuthError } from '../errors.ts'
import { unconnectedCode } from '../internal/unconnected.ts'
import { discardBody } from '../token-endpoint/response.ts'

/** How long a login waits for a sign that its authorization server runs, in milliseconds. */
const reachMs = 3_000

/**
 * Rejects with `temporarily_unavailable` if no connection to the authorization server came about, because the browser would show no
 * more and the login would wait for its whole time. Every response, and every doubt, lets the login go on.
 */
export async function requireServer({ authUrl, fetch }: AuthConfig, timeoutMs: number = reachMs): Promise<void> {
  try {
    discardBody(await fetch(`${authUrl}/`, { redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) }))
  } catch (error) {
    const code = unconnectedCode(error)
    if (!code) return
    const message = `${new URL(authUrl).origin} was not reached (${code}). Check --auth-url, and that the service runs.`
    throw new AgentAuthError('temporarily_unavailable', message, { retryable: true })
  }
}
