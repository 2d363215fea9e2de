import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { abortable, sleep, withTimeout } from '../../src/internal/timeouts.ts'
import { flush, virtualTime } from '../support/virtual-time.ts'

it('work that takes longer than its limit rejects with timeout, which is retryable', async () => {
  const time = virtualTime()
  const late = time.until(withTimeout(1_000, new Promise(() => {})))
  await expect(late).rejects.toMatchObject({ code: 'timeout', retryable: true })
  expect(time.nowMs()).toBe(1_000)
})

describe('a wait with a signal', () => {
  it('ends at once if the signal fired before, also if the work never ends', async () => {
    const time = virtualTime()
    const work = withTimeout(1_000, new Promise(() => {}))
    await expect(time.until(abortable(work, AbortSignal.abort()))).rejects.toMatchObject({ code: 'aborted' })
  })

  it.each<[result: string, settle: () => Promise<unknown>]>([
    ['succeeds', async () => 'done'],
    ['fails', () => Promise.reject(new TypeError('failed'))],
  ])('leaves no listener on the signal if the work %s', async (_, settle) => {
    const { signal } = new AbortController()
    const waiting = abortable(settle(), signal).catch(() => {})
    const during = getEventListeners(signal, 'abort').length
    await waiting
    await flush()
    expect({ during, after: getEventListeners(signal, 'abort').length }).toEqual({ during: 1, after: 0 })
  })

  it('leaves no listener on the signal that fired, also if the work never ends', async () => {
    const controller = new AbortController()
    const waiting = sleep(60_000, controller.signal).catch(() => {})
    const during = getEventListeners(controller.signal, 'abort').length
    controller.abort()
    await waiting
    expect({ during, after: getEventListeners(controller.signal, 'abort').length }).toEqual({ during: 1, after: 0 })
  })
})
