import { failed } from '../api/envelope.ts'

//
const retryAfterSeconds = 1
const problem = 'the service is starting'

/** What a port answers before its app is ready: 503 in the form of its host. */
export function startingResponse(origin: 'auth' | 'base'): Response {
  const onAuth = { error: 'temporarily_unavailable', error_description: problem }
  const body = origin === 'auth' ? onAuth : failed('service_unavailable', problem)
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Retry-After': String(retryAfterSeconds),
  }
  return new Response(JSON.stringify(body), { status: 503, headers })
}
