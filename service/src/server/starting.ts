import { failed } from '../api/envelope.ts'
import { serverLimits } from '../limits.ts'

const problem = 'the service is starting'

/** Returns the 503 of a host whose app is not ready, in the format of that host. */
export function startingResponse(origin: 'auth' | 'base'): Response {
  const onAuth = { error: 'temporarily_unavailable', error_description: problem }
  const body = origin === 'auth' ? onAuth : failed('service_unavailable', problem)
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Retry-After': String(serverLimits.retryAfterMs / 1_000),
  }
  return new Response(JSON.stringify(body), { status: 503, headers })
}
