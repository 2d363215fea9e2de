import { type Attributes, type Meter, SpanStatusCode, type Tracer } from '@opentelemetry/api'
import type { BackendEvent } from '../backend/events.ts'
import { createInstruments } from './instruments.ts'

interface Operation {
  readonly name: 'login' | 'exchange' | 'refresh' | 'proxy'
  readonly durationMs: number
  /** What went wrong, as a code. Undefined: nothing. */
  readonly error: string | undefined
  readonly attributes?: Attributes
}

/** Returns a function that records events. Each attribute is named here, so that none holds more than is meant. */
export function eventRecorder(tracer: Tracer, meter: Meter): (event: BackendEvent) => void {
  const to = createInstruments(meter)

  /** Makes a span that has ended already, and a duration. The active span of the request becomes its parent. */
  function recordOperation({ name, durationMs, error, attributes: own = {} }: Operation): void {
    const attributes = error === undefined ? own : { ...own, 'error.type': error }
    to.durations.record(durationMs / 1_000, { 'agent_auth.operation': name, ...attributes })
    const endTime = Date.now()
    const span = tracer.startSpan(`agent_auth.${name}`, { startTime: endTime - durationMs, attributes })
    if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(endTime)
  }

  return (event) => {
    switch (event.type) {
      case 'token_request':
        if (event.grant === 'refresh_token') to.refreshes.add(1, { 'agent_auth.outcome': event.outcome })
        return recordOperation(tokenRequest(event))
      case 'login_finished':
        to.logins.add(1, { 'agent_auth.outcome': 'ok' })
        return recordOperation({ name: 'login', durationMs: event.durationMs, error: undefined })
      case 'login_failed':
        to.logins.add(1, { 'agent_auth.outcome': event.code })
        return recordOperation({ name: 'login', durationMs: event.durationMs, error: event.code })
      case 'proxied':
        return recordOperation(proxied(event))
      case 'proxy_refused':
        return to.refusals.add(1, { ...routeOf(event.route), 'agent_auth.reason': event.reason })
      case 'proxy_wait_started':
        return to.waiting.add(1)
      case 'proxy_wait_ended':
        return to.waiting.add(-1)
      case 'session_ended':
        if (event.reason === 'store_lost') return to.sessionsLost.add(1)
        return to.sessionsEnded.add(1, { 'agent_auth.reason': event.reason })
      case 'login_required':
        return to.sessionsEnded.add(1, { 'agent_auth.reason': 'expired' })
      case 'ended_session_removed':
        return to.sessionsEnded.add(1, { 'agent_auth.reason': event.reason })
      case 'storage_degraded':
        return to.storageDegraded.add(1, { 'agent_auth.reason': event.reason })
      case 'storage_error':
        return to.storageErrors.add(1, { 'agent_auth.operation': event.operation, 'error.type': codeOf(event.cause) })
      case 'unexpected_error':
        return to.unexpectedErrors.add(1, { ...routeOf(event.route), 'error.type': codeOf(event.cause) })
    }
  }
}

function tokenRequest(event: Extract<BackendEvent, { type: 'token_request' }>): Operation {
  const { grant, outcome, status, durationMs } = event
  return {
    name: grant === 'refresh_token' ? 'refresh' : 'exchange',
    durationMs,
    error: outcome === 'ok' ? undefined : outcome,
    attributes: status === undefined ? {} : { 'http.response.status_code': status },
  }
}

function proxied(event: Extract<BackendEvent, { type: 'proxied' }>): Operation {
  const { route, status, durationMs, cause } = event
  const error = cause ? codeOf(cause) : String(status)
  return {
    name: 'proxy',
    durationMs,
    error: status >= 500 ? error : undefined,
    attributes: { ...routeOf(route), 'http.response.status_code': status },
  }
}

/** Splits the template of a route, which has the names of its parameters and not their values. */
function routeOf(template: string): Attributes {
  const [method = '', path] = template.split(' ')
  return path ? { 'http.request.method': method, 'http.route': path } : { 'http.request.method': method }
}

function codeOf({ code, name }: { readonly code?: string; readonly name: string }): string {
  return code ?? name
}
