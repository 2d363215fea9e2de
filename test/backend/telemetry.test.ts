import {
  type Attributes,
  type HrTime,
  metrics,
  type SpanOptions,
  type SpanStatus,
  SpanStatusCode,
  type TimeInput,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { BackendEvent } from 'agent-auth/backend'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BackendRig, backendRig } from '../support/backend-rig.ts'

// The recipe of the guide, run with the official API; only the exporter behind it is ours.

interface Ended {
  readonly name: string
  readonly attributes: Attributes
  readonly status: SpanStatus | undefined
  readonly tookMs: number
}

const events: BackendEvent[] = []
const spans: Ended[] = []
const counted: { amount: number; attributes: Attributes | undefined }[] = []
const durations: { valueMs: number; attributes: Attributes | undefined }[] = []

const noSpan = trace.getTracer('none').startSpan('none')
const tracer = {
  startSpan(name: string, { startTime, attributes = {} }: SpanOptions = {}) {
    let status: SpanStatus | undefined
    return Object.assign(Object.create(noSpan), {
      setStatus(given: SpanStatus) {
        status = given
      },
      end: (endTime?: TimeInput) => spans.push({ name, attributes, status, tookMs: ms(endTime) - ms(startTime) }),
    })
  },
} as Tracer

function ms(time: TimeInput | HrTime | undefined): number {
  if (typeof time !== 'number') throw new TypeError('The recipe gives its times in milliseconds.')
  return time
}

let rig: BackendRig
beforeAll(async () => {
  trace.setGlobalTracerProvider({ getTracer: () => tracer })
  const none = metrics.getMeter('none')
  const meter = Object.assign(Object.create(none), {
    createCounter: () => ({
      add: (amount: number, attributes?: Attributes) => counted.push({ amount, attributes }),
    }),
    createHistogram: () => ({
      record: (valueMs: number, attributes?: Attributes) => durations.push({ valueMs, attributes }),
    }),
  })
  metrics.setGlobalMeterProvider({ getMeter: () => meter })
  // As in an app: after the provider, which the meter is taken from once.
  const { observe } = await import('../../docs/snippets/telemetry.ts')
  rig = await backendRig({
    backend: {
      onEvent(event) {
        events.push(event)
        observe(event)
      },
    },
  })
})
afterAll(async () => {
  trace.disable()
  metrics.disable()
  await rig.close()
})

test('the OpenTelemetry recipe: spans and durations for what takes time, a count of everything, and no secret in any of it', async () => {
  const browser = rig.browser()
  await browser.logIn()
  await rig.service.dev.expireAccessTokens()
  expect((await browser.call()).status).toBe(200)
  const refused = await browser.send('/api/llm_models/search', { method: 'POST', body: '{}' })
  expect(refused.status).toBe(403)
  const [, cookie] = browser.session()

  expect(spans.map(({ name }) => name)).toEqual(['token_request', 'login_finished', 'token_request', 'proxied'])
  const route = 'POST /api/llm_models/search'
  expect(spans.at(-1)?.attributes).toEqual({ route, status: 200 })
  expect(spans.map(({ status }) => status)).toEqual(spans.map(() => undefined))
  const timed = events.flatMap((event) => ('durationMs' in event ? [event.durationMs] : []))
  expect(durations.map(({ valueMs }) => valueMs)).toEqual(timed)
  expect(spans.map(({ tookMs }) => Math.round(tookMs))).toEqual(timed.map(Math.round))
  expect(durations.map(({ attributes }) => attributes?.type)).toEqual(spans.map(({ name }) => name))
  expect(counted.map(({ amount }) => amount)).toEqual(counted.map(() => 1))
  expect(counted.at(-1)?.attributes).toEqual({ type: 'proxy_refused', route, status: 403, reason: 'cross_site' })

  const tokens = rig.sent.flatMap(({ headers }) => headers.get('authorization')?.split(' ')[1] ?? [])
  expect(tokens.length).toBeGreaterThan(1)
  const told = JSON.stringify({ spans, counted, durations })
  for (const secret of [...tokens, cookie]) expect(told).not.toContain(secret)

  await rig.service.close()
  spans.length = 0
  expect((await browser.call()).status).toBeGreaterThanOrEqual(500)
  expect(spans.at(-1)?.status).toEqual({ code: SpanStatusCode.ERROR })
  for (const value of Object.values(counted.at(-1)?.attributes ?? {})) expect(typeof value).not.toBe('object')
})
