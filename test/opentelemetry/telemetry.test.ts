// Spans and metrics of a backend, by the SDK of OpenTelemetry.
import { context, metrics, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  type DataPoint,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import type { BackendEvent } from 'agent-auth/backend'
import { createTelemetry } from 'agent-auth/opentelemetry'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { guard, type RigOptions, searchPath, steppedStorage } from '../support/backend-rig.ts'
import { rigOf } from '../support/rig-of.ts'
import { failure } from '../support/token-flow.ts'
import { twoProcesses } from '../support/two-processes.ts'

const spanExporter = new InMemorySpanExporter()
const tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spanExporter)] })
let metricExporter: InMemoryMetricExporter
let meters: MeterProvider

beforeEach(() => {
  spanExporter.reset()
  metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 3_600_000 })
  meters = new MeterProvider({ readers: [reader] })
})
afterEach(() => meters.shutdown())

const telemetry = (): ReturnType<typeof createTelemetry> =>
  createTelemetry({ tracer: tracers.getTracer('test'), meter: meters.getMeter('test') })

const spans = (): readonly ReadableSpan[] => spanExporter.getFinishedSpans()
const named = (name: string): ReadableSpan[] => spans().filter((span) => span.name === `agent_auth.${name}`)

/** Returns a metric so far. */
async function metric(name: string): Promise<MetricData | undefined> {
  metricExporter.reset()
  await meters.forceFlush()
  const all = metricExporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
  return all.find(({ descriptor }) => descriptor.name === `agent_auth.${name}`)
}

/** Returns the points of a metric so far, each as its value and its attributes. */
async function points(name: string): Promise<{ value: unknown; attributes: object }[]> {
  const found = await metric(name)
  return ((found?.dataPoints ?? []) as DataPoint<unknown>[]).map(({ value, attributes }) => ({ value, attributes }))
}

/** A backend in front of a real service, whose events are recorded. */
async function observed(
  options: RigOptions = {},
): Promise<{ rig: Awaited<ReturnType<typeof rigOf>>; events: BackendEvent[] }> {
  const events: BackendEvent[] = []
  const { onEvent } = telemetry()
  const record = (event: BackendEvent): void => {
    events.push(event)
    onEvent(event)
  }
  return { rig: await rigOf({ ...options, backend: { ...options.backend, onEvent: record } }), events }
}

describe('over the real service', () => {
  test('a login, a code exchange, a refresh and a proxied request are spans with their durations', async () => {
    const { rig, events } = await observed()
    const browser = rig.browser()
    await browser.logIn()
    await rig.service.dev.expireAccessTokens()
    expect((await browser.call()).status).toBe(200)
    expect(spans().map(({ name }) => name)).toEqual([
      'agent_auth.exchange',
      'agent_auth.login',
      'agent_auth.refresh',
      'agent_auth.proxy',
    ])
    const status = { 'http.response.status_code': 200 }
    const route = { 'http.request.method': 'POST', 'http.route': searchPath }
    expect(spans().map(({ attributes }) => attributes)).toEqual([status, {}, status, { ...route, ...status }])
    expect(spans().map((span) => span.status.code)).toEqual(Array(4).fill(SpanStatusCode.UNSET))
    const timed = events.flatMap((event) => ('durationMs' in event ? [event.durationMs] : []))
    const tookMs = spans().map(({ duration: [s, ns] }) => s * 1_000 + ns / 1_000_000)
    for (const [at, ms] of timed.entries()) expect(Math.abs((tookMs[at] ?? Number.NaN) - ms)).toBeLessThan(1)
    expect(await points('refreshes')).toEqual([{ value: 1, attributes: { 'agent_auth.outcome': 'ok' } }])
    expect(await points('logins')).toEqual([{ value: 1, attributes: { 'agent_auth.outcome': 'ok' } }])
    const durations = await points('operation.duration')
    expect(durations.map(({ attributes }) => attributes)).toContainEqual({
      'agent_auth.operation': 'proxy',
      ...route,
      ...status,
    })
    expect(durations.map(({ value }) => (value as { count: number }).count)).toEqual([1, 1, 1, 1])
  })

  test('neither a span nor a metric holds a token, a code, the cookie, a query, a user or a session', async () => {
    const { rig } = await observed()
    const browser = rig.browser()
    const callback = await browser.goToCallback('/agents?secret=query')
    await browser.send(callback.pathname + callback.search, {}, 'cross-site')
    const read = await (await browser.send('/auth/session')).json()
    await browser.call(`${searchPath}?secret=query`)
    await browser.send(`${searchPath}?secret=query`, { method: 'POST' })
    const [, cookie] = browser.session()
    await browser.logOut()
    const secrets = [...callback.searchParams.values(), read.sessionRef, read.claims.subject, cookie, 'secret', 'query']
    const tokens = rig.sent.flatMap(({ headers }) => headers.get('authorization')?.split(' ')[1] ?? [])
    expect(tokens.length).toBeGreaterThan(1)
    await meters.forceFlush()
    const told = JSON.stringify([
      spans().map(({ name, attributes, status, events, links }) => ({ name, attributes, status, events, links })),
      metricExporter.getMetrics().map(({ scopeMetrics }) => scopeMetrics),
    ])
    expect(told).toContain('agent_auth.proxy.refused')
    for (const secret of [...secrets, ...tokens]) expect(told).not.toContain(secret)
  })

  test('a login that failed is a span with its code, and a count of it', async () => {
    const { rig } = await observed()
    const answered = await rig.browser().send('/auth/callback?error=access_denied&state=x', {}, 'cross-site')
    expect(answered.status).toBeGreaterThanOrEqual(400)
    expect(await points('logins')).toEqual([{ value: 1, attributes: { 'agent_auth.outcome': 'flow_not_found' } }])
    expect(named('login').map(({ attributes }) => attributes)).toEqual([{ 'error.type': 'flow_not_found' }])
  })

  test('spans are children of the span of the request, and a refused request is a count', async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    try {
      const { rig } = await observed()
      const browser = rig.browser()
      await browser.logIn()
      const parent = tracers.getTracer('test').startSpan('request')
      await context.with(trace.setSpan(context.active(), parent), () => browser.call())
      expect(named('proxy')[0]?.parentSpanContext?.spanId).toBe(parent.spanContext().spanId)
      expect((await browser.send(searchPath, { method: 'POST' })).status).toBe(403)
      const refused = { 'http.request.method': 'POST', 'http.route': searchPath, 'agent_auth.reason': 'cross_site' }
      expect(await points('proxy.refused')).toEqual([{ value: 1, attributes: refused }])
    } finally {
      context.disable()
    }
  })
})

test('a token endpoint that is away: the refresh is counted by its class, and both spans are errors', async () => {
  const { onEvent } = telemetry()
  const { clock, service, signIn } = await twoProcesses({ options: { onEvent } })
  const { here } = await signIn()
  service.held = Promise.reject(
    Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNREFUSED', syscall: 'connect' } }),
  )
  service.held.catch(() => {})
  clock.advance(700_000)
  expect((await here.call()).status).toBe(503)
  const failed = [named('refresh').at(-1), named('proxy').at(-1)]
  expect(failed.map((span) => span?.status.code)).toEqual([SpanStatusCode.ERROR, SpanStatusCode.ERROR])
  expect(failed.map((span) => span?.attributes)).toMatchObject([
    { 'error.type': 'not_sent' },
    { 'error.type': 'temporarily_unavailable', 'http.response.status_code': 503 },
  ])
  expect(await points('refreshes')).toEqual([{ value: 1, attributes: { 'agent_auth.outcome': 'not_sent' } }])
})

test('each session that ends is counted once, by its reason, and one that another process ended apart', async () => {
  const { onEvent } = telemetry()
  const { rig, clock, signIn } = await twoProcesses({ options: { onEvent } })
  const [left, ended] = [await signIn('ada'), await signIn('ben')]
  for (const { there } of [left, ended]) expect((await there.call()).status).toBe(204)
  await left.here.send('/auth/logout', { method: 'POST', headers: guard })
  await rig.backend.endSessionsOf('ben')
  clock.advance(2_000)
  await Promise.all([left, ended].map(({ there }) => there.call()))
  // In any order, because records are removed after the response.
  const byReason = async (): Promise<object> =>
    Object.fromEntries(
      (await points('sessions.ended')).map(({ value, attributes }) => [Object.values(attributes)[0], value]),
    )
  await expect.poll(byReason).toEqual({ signed_out: 1, ended: 1 })
  expect(await points('sessions.lost')).toEqual([{ value: expect.any(Number), attributes: {} }])
})

test('a storage that fails is a count of its operations, and of what became of the sessions', async () => {
  let works = true
  const sessions = steppedStorage((operation) => {
    if (operation === 'setItem' && !works) throw Object.assign(new Error('secret record'), { code: 'ECONNRESET' })
  })
  const { rig } = await observed({ backend: { sessions } })
  const browser = rig.browser()
  await browser.logIn()
  await rig.service.dev.expireAccessTokens()
  works = false
  expect((await browser.call()).status).toBe(200)
  expect(await points('storage.errors')).toEqual([
    { value: 1, attributes: { 'agent_auth.operation': 'setItem', 'error.type': 'ECONNRESET' } },
  ])
  expect(await points('storage.degraded')).toEqual([{ value: 1, attributes: { 'agent_auth.reason': 'write_failed' } }])
})

const route = { 'http.request.method': 'POST', 'http.route': '/api/agents' }
const cause = { name: 'TypeError', message: 'fetch failed' }
const counts: [name: string, event: BackendEvent, attributes: object][] = [
  ['sessions.ended', { type: 'session_ended', reason: 'signed_out' }, { 'agent_auth.reason': 'signed_out' }],
  ['sessions.ended', { type: 'login_required' }, { 'agent_auth.reason': 'expired' }],
  ['sessions.ended', { type: 'ended_session_removed', revocation: 'done' }, { 'agent_auth.reason': 'ended' }],
  ['sessions.lost', { type: 'session_ended', reason: 'store_lost' }, {}],
  [
    'storage.errors',
    { type: 'storage_error', operation: 'getItem', cause },
    { 'agent_auth.operation': 'getItem', 'error.type': 'TypeError' },
  ],
  [
    'unexpected_errors',
    { type: 'unexpected_error', route: 'POST /api/agents', cause },
    { ...route, 'error.type': 'TypeError' },
  ],
]

test.each(counts)('%s counts %o once', async (name, event, attributes) => {
  telemetry().onEvent(event)
  expect(await points(name)).toEqual([{ value: 1, attributes }])
})

test('a login of 250 ms is a span of 250 ms, and 0.25 s in the histogram', async () => {
  telemetry().onEvent({ type: 'login_finished', durationMs: 250 })
  expect(named('login').map(({ duration }) => duration)).toEqual([[0, 250_000_000]])
  const durations = await metric('operation.duration')
  expect(durations?.descriptor.unit).toBe('s')
  expect(durations?.dataPoints.map(({ value }) => value)).toMatchObject([{ sum: 0.25, count: 1 }])
})

test('a proxied request is an error from status 500 on', () => {
  const { onEvent } = telemetry()
  for (const status of [499, 500]) onEvent({ type: 'proxied', route: 'POST /api/agents', status, durationMs: 1 })
  expect(named('proxy').map(({ status }) => status.code)).toEqual([SpanStatusCode.UNSET, SpanStatusCode.ERROR])
})

test('without options it takes the global tracer and meter at the first event, so the SDK may start later', async () => {
  const { onEvent } = createTelemetry()
  const spy = vi.fn((_name: string) => tracers.getTracer('global'))
  trace.setGlobalTracerProvider({ getTracer: spy })
  metrics.setGlobalMeterProvider(meters)
  try {
    onEvent({ type: 'login_finished', durationMs: 5 })
    onEvent({ type: 'login_started' })
    expect(named('login')).toHaveLength(1)
    expect(spy.mock.calls.map(([name]) => name)).toEqual(['agent-auth'])
    expect(await points('logins')).toEqual([{ value: 1, attributes: { 'agent_auth.outcome': 'ok' } }])
    const scopes = metricExporter
      .getMetrics()
      .flatMap(({ scopeMetrics }) => scopeMetrics.map(({ scope }) => scope.name))
    expect(scopes).toEqual(['agent-auth'])
  } finally {
    trace.disable()
    metrics.disable()
  }
})

test('an unknown option, and a meter that is none, are config_invalid', async () => {
  expect(await failure(() => createTelemetry({ traces: 1 } as object))).toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('traces is not an option of createTelemetry'),
  })
  for (const options of [{ meter: {} }, { tracer: metrics }])
    expect(await failure(() => createTelemetry(options as object))).toMatchObject({ code: 'config_invalid' })
})
