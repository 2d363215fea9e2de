import { failed } from '../api/envelope.ts'
import { serverLimits } from '../limits.ts'

const problem = 'the service is starting'

/** Returns the 503 of a host whose app is not ready, in the format of that host. The process is alive. */
export function startingResponse(origin: 'auth' | 'base', path: string): Response {
  if (path === '/healthz') return json(200, { status: 'alive' })
  if (path === '/readyz') return json(503, { status: 'not-ready', missing: ['start'] })
  const onAuth = { error: 'temporarily_unavailable', error_description: problem }
  return json(503, origin === 'auth' ? onAuth : failed('service_unavailable', problem))
}

function json(status: 200 | 503, body: object): Response {
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...(status === 503 ? { 'Retry-After': String(serverLimits.retryAfterMs / 1_000) } : {}),
  }
  return new Response(JSON.stringify(body), { status, headers })
}
