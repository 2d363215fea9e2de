// Responses in progress when their session ends.
import { expect, onTestFinished, test, vi } from 'vitest'
import { type AppBrowser, searchPath, steppedStorage } from '../support/backend-rig.ts'
import { gate } from '../support/gate.ts'
import { statuses, type TwoProcesses, twoProcesses } from '../support/two-processes.ts'

interface Streaming extends TwoProcesses {
  send(text: string): void
  readonly signal: () => AbortSignal | null | undefined
  /** Reads the next chunk at the browser. */
  next(): Promise<string>
  logOut(): Promise<Response>
  readonly there: AppBrowser
}

/** A response that the other process relays, whose first chunk has arrived. */
async function streaming(options = {}): Promise<Streaming> {
  const both = await twoProcesses({ options })
  const { here, there } = await both.signIn()
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let signal: AbortSignal | null | undefined
  both.service.api = (init) => {
    signal = init?.signal
    const start = (given: ReadableStreamDefaultController<Uint8Array>): void => {
      controller = given
    }
    return new Response(new ReadableStream({ start }))
  }
  const response = await there.call()
  const reader = response.body?.getReader()
  const next = async (): Promise<string> => new TextDecoder().decode((await reader?.read())?.value)
  const send = (text: string): void => controller?.enqueue(new TextEncoder().encode(text))
  send('one')
  expect(await next()).toBe('one')
  return { ...both, send, signal: () => signal, next, logOut: () => here.logOut(), there }
}

test.each([
  ['endAll', ({ rig }: Streaming) => rig.backend.endAll()],
  ['endSessionsOf', ({ rig }: Streaming) => rig.backend.endSessionsOf('ada')],
  ['a logout', ({ logOut }: Streaming) => logOut()],
])(
  'after %s in another process a response in progress passes nothing on, and the API request is aborted',
  async (_, end) => {
    const stream = await streaming()
    const { rig, clock, send, signal, next } = stream
    await end(stream)
    clock.advance(2_000)
    send('two')
    await expect(next()).rejects.toThrow('ended early')
    expect(signal()?.aborted).toBe(true)
    await expect
      .poll(() => rig.events.filter(({ type }) => type === 'proxy_interrupted'))
      .toEqual([
        {
          type: 'proxy_interrupted',
          route: `POST ${searchPath}`,
          cause: expect.objectContaining({ code: 'session_ended' }),
        },
      ])
  },
)

test('a response in progress does not remove a record that the storage hid for a moment', async () => {
  const { clock, records, there, send, next } = await streaming()
  const hidden = [...records]
  records.clear()
  clock.advance(2_000)
  expect(await statuses(there)).toEqual(['signed-out'])
  for (const [name, text] of hidden) records.set(name, text)
  send('two')
  await expect(next()).rejects.toThrow('ended early')
  clock.advance(2_000)
  expect(await statuses(there)).toEqual(['signed-in'])
})

test('a response in progress goes on while its session does, and keeps the session from being idle', async () => {
  const { rig, clock, send, next, signIn } = await streaming({ idleMs: 120_000 })
  const other = await signIn('ben')
  for (let round = 0; round < 10; round++) {
    clock.advance(25_000)
    send(`${round}`)
    expect(await next()).toBe(`${round}`)
  }
  expect(await statuses(other.here)).toEqual(['signed-out'])
  expect(rig.events.filter(({ type }) => type === 'proxy_interrupted')).toEqual([])
})

test('the time in which a storage says whether the session has ended is no silence of the API', async () => {
  let read: Promise<void> | undefined
  const sessions = steppedStorage((operation) => (operation === 'getItem' ? read : undefined))
  const { clock, send, next } = await streaming({
    sessions,
    proxy: [{ route: `POST ${searchPath}`, timeoutMs: 1_000 }],
  })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const held = gate()
  read = held.passed
  clock.advance(2_000)
  send('two')
  const second = next()
  await vi.advanceTimersByTimeAsync(1_500)
  held.open()
  expect(await second).toBe('two')
})
