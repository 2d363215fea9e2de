import { afterEach, expect, test, vi } from 'vitest'
import { guard, statusAndCode } from '../support/backend-rig.ts'
import { type ProxyRig, proxyRig } from '../support/proxy-rig.ts'
import { until } from '../support/until.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** An API that responds when the test says so. */
interface HeldApi {
  readonly rig: ProxyRig
  /** The number in the path of each request that the API has, in the order in which they came. */
  held(): string[]
  /** Responds to the oldest request. */
  answerNext(): void
}

async function heldApi(): Promise<HeldApi> {
  const answers: ((response: Response) => void)[] = []
  const rig = await proxyRig(() => new Promise((resolve) => answers.push(resolve)))
  return {
    rig,
    held: () => rig.seen.map(({ url }) => url.slice(url.lastIndexOf('/') + 1)),
    answerNext: () => answers.shift()?.(new Response(null)),
  }
}

const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, at) => String(from + at))

/** Lets everything run that waits for nothing else. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test('32 requests of a session are sent at once, and others wait in their order; each session has its own queue', async () => {
  const { rig, held, answerNext } = await heldApi()
  const calls = numbers(1, 40).map((number) => rig.get(`/api/items/${number}`))
  await until(() => held().length === 32)
  await settled()
  expect(held()).toEqual(numbers(1, 32))
  const other = rig.browser()
  await other.logIn()
  const theirs = other.send('/api/items/other', { headers: guard })
  await until(() => held().length === 33)
  for (let sent = 34; sent <= 41; sent++) {
    answerNext()
    await until(() => held().length === sent)
  }
  expect(held()).toEqual([...numbers(1, 32), 'other', ...numbers(33, 40)])
  for (let at = 0; at < 41; at++) answerNext()
  const statuses = await Promise.all([...calls, theirs].map(async (call) => (await call).status))
  expect(new Set(statuses)).toEqual(new Set([200]))
})

test('500 requests at once, one of which hangs: 499 succeed, and that one is a 504', async () => {
  const rig = await proxyRig(({ url }) => (url.endsWith('/7') ? new Promise(() => {}) : new Response(null)))
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const calls = numbers(1, 500).map((number) => rig.get(`/api/items/${number}`))
  const [hanging] = calls.splice(6, 1)
  expect(new Set((await Promise.all(calls)).map(({ status }) => status))).toEqual(new Set([200]))
  await vi.advanceTimersByTimeAsync(30_000)
  expect((await hanging)?.status).toBe(504)
  expect(rig.seen).toHaveLength(500)
})

test('while 32 requests are in progress and 480 wait, another one is a 429', async () => {
  const { rig, held, answerNext } = await heldApi()
  const calls = numbers(1, 512).map((number) => rig.get(`/api/items/${number}`))
  await until(() => held().length === 32)
  await settled()
  const refused = await rig.get('/api/items/513')
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(await statusAndCode(refused)).toEqual({ status: 429, code: 'temporarily_unavailable' })
  expect(rig.events.at(-1)).toEqual({
    type: 'proxy_refused',
    route: 'GET /api/items/:id',
    status: 429,
    reason: 'busy',
  })
  for (let sent = 1; sent <= 512; sent++) {
    await until(() => held().length >= Math.min(sent, 512))
    answerNext()
  }
  expect(new Set((await Promise.all(calls)).map(({ status }) => status))).toEqual(new Set([200]))
  expect(held()).not.toContain('513')
})

test('a request that waited for 30 s is a 503, and is not sent', async () => {
  const rig = await proxyRig(() => new Response('x'))
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  // A response keeps its place until it was read.
  const unread = await Promise.all(numbers(1, 32).map((number) => rig.get(`/api/items/${number}`)))
  const late = rig.get('/api/items/late')
  await settled()
  await vi.advanceTimersByTimeAsync(29_999)
  const later = rig.get('/api/items/later')
  await settled()
  await vi.advanceTimersByTimeAsync(1)
  expect(await statusAndCode(await late)).toEqual({ status: 503, code: 'temporarily_unavailable' })
  expect(rig.events.at(-1)).toMatchObject({ type: 'proxy_refused', status: 503, reason: 'busy' })
  await unread[0]?.text()
  expect((await later).status).toBe(200)
  expect(rig.seen.map(({ url }) => url).filter((url) => url.includes('late'))).toEqual([
    expect.stringMatching(/later$/),
  ])
})

test('a browser that leaves while its request waits causes no request to the API, and the next one is sent', async () => {
  const { rig, held, answerNext } = await heldApi()
  const calls = numbers(1, 32).map((number) => rig.get(`/api/items/${number}`))
  await until(() => held().length === 32)
  const gone = new AbortController()
  const left = rig.get('/api/items/left', { signal: gone.signal })
  await settled()
  const next = rig.get('/api/items/next')
  await settled()
  const leftBefore = await rig.get('/api/items/left', { signal: AbortSignal.abort() })
  expect(await statusAndCode(leftBefore)).toEqual({ status: 499, code: 'aborted' })
  gone.abort()
  expect(await statusAndCode(await left)).toEqual({ status: 499, code: 'aborted' })
  expect(rig.events.at(-1)).toMatchObject({ type: 'proxied', status: 499 })
  answerNext()
  await until(() => held().length === 33)
  for (let at = 0; at < 32; at++) answerNext()
  expect((await next).status).toBe(200)
  await Promise.all(calls)
  expect(held()).toEqual([...numbers(1, 32), 'next'])
})

test('a request whose session ends while it waits is a 401, and is not sent', async () => {
  const { rig, held, answerNext } = await heldApi()
  const calls = numbers(1, 33).map((number) => rig.get(`/api/items/${number}`))
  await until(() => held().length === 32)
  await settled()
  await rig.person.logOut()
  for (let at = 0; at < 32; at++) answerNext()
  const statuses = (await Promise.all(calls)).map(({ status }) => status)
  expect(statuses).toEqual([...Array(32).fill(200), 401])
  expect(held()).toHaveLength(32)
})
