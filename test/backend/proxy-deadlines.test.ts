// A route whose time is over before the API responds.
import { afterEach, expect, test, vi } from 'vitest'
import { type BackendRig, guard } from '../support/backend-rig.ts'
import { testClock } from '../support/clock.ts'
import { proxyRig } from '../support/proxy-rig.ts'

afterEach(() => {
  vi.useRealTimers()
})

const proxy = [{ route: 'POST /api/items', timeoutMs: 5_000 }]
const post = { method: 'POST', headers: guard, duplex: 'half' }
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Handles a request, lets the time of its route pass, and returns what the browser and the event say. */
async function afterTime(rig: BackendRig, begin: () => Promise<Response | null>): Promise<object> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const call = begin()
  for (let turn = 0; turn < 20; turn++) await nextTurn()
  await vi.advanceTimersByTimeAsync(5_000)
  const answered = await call
  const event = rig.events.at(-1)
  return {
    status: answered?.status,
    error: await answered?.json(),
    cause: event?.type === 'proxied' && event.status === answered?.status ? event.cause : 'of no proxied event',
  }
}

const lateBody = {
  status: 504,
  error: { code: 'timeout', message: 'The request body did not arrive within 5 s. Try again.', retryable: true },
  cause: {
    name: 'AgentAuthError',
    code: 'timeout',
    message: 'The request body did not arrive within 5 s. Try again.',
  },
}

test('a short body that does not arrive in time: 504 that says so, and the API is not called', async () => {
  const rig = await proxyRig(undefined, { backend: { proxy } })
  const request = rig.person.request('/api/items', {
    ...post,
    body: new ReadableStream(),
    headers: { ...guard, 'content-length': '9' },
  })
  expect(await afterTime(rig, () => rig.backend.handle(request))).toEqual(lateBody)
  expect(rig.seen).toEqual([])
})

test('a streamed body that stops in the middle: 504 that says so, and its request is aborted', async () => {
  const rig = await proxyRig(async (request) => new Response(await request.text()), { backend: { proxy } })
  const body = new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('begin')) })
  const request = rig.person.request('/api/items', { ...post, body })
  expect(await afterTime(rig, () => rig.backend.handle(request))).toEqual(lateBody)
  expect(rig.seen[0]?.signal.aborted).toBe(true)
})

test('a refresh that lasts longer than the time of the route: 504, and nothing says that the API is away', async () => {
  const clock = testClock(Date.now())
  const rig = await proxyRig(undefined, { backend: { proxy, clock } })
  const silent = rig.another({ fetch: () => new Promise(() => {}) })
  const browser = rig.browser(silent)
  browser.setCookie(...rig.person.session())
  clock.advance(7_200_000)
  const error = { code: 'timeout', message: 'The access token was not refreshed within 5 s. Try again.' }
  expect(await afterTime(rig, () => silent.handle(browser.request('/api/items', { ...post, body: 'x' })))).toEqual({
    status: 504,
    error: { ...error, retryable: true },
    cause: { name: 'AgentAuthError', ...error },
  })
  expect(rig.seen).toEqual([])
})
