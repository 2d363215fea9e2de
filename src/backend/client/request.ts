import { AgentAuthError } from '../../errors.ts'
import { defaultTimeoutMs } from '../../internal/limits.ts'
import { csrfHeader } from '../csrf.ts'
import type { BackendClientState } from './state.ts'

type BackendBody = BackendClientState & { readonly code?: string }

/**
 * Calls a route of the backend that responds with the state (`defaultTimeoutMs`, 10 s). Rejects with `temporarily_unavailable` or
 * `storage_failed`.
 */
export async function callBackend(path: string, method: 'GET' | 'POST'): Promise<BackendClientState> {
  const signal = AbortSignal.timeout(defaultTimeoutMs)
  // `{}` if the network failed or the body is no JSON. The body of a backend's error has a `code` and no `status`.
  const body: BackendBody = Object(
    await fetch(path, { method, headers: { [csrfHeader]: '1' }, signal })
      .then((response) => response.json())
      .catch(() => {}),
  )
  if (/^signed-/.test(body.status)) return body
  throw new AgentAuthError(
    body.code === 'storage_failed' ? body.code : 'temporarily_unavailable',
    `${path} gave no session. Try again or check basePath.`,
    { retryable: true },
  )
}
