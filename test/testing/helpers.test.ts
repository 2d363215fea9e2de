import { holdRequests, meetingPoint, signedIn, signedInCookie, type TestPage, testClock } from 'agent-auth/testing'
import { describe, expect, test } from 'vitest'
import { codeOf } from '../support/session-rig.ts'

const page = {} as TestPage
const url = 'http://127.0.0.1:5173/'

describe('testClock', () => {
  test('moves when a test says so: both readings, or the wall clock alone', () => {
    const clock = testClock(1_000_000)
    const monotonic = clock.monotonicMs()
    clock.advance(500)
    clock.jumpWall(-2_000)
    expect({ wallMs: clock.wallMs(), elapsedMs: clock.monotonicMs() - monotonic }).toEqual({
      wallMs: 998_500,
      elapsedMs: 500,
    })
  })
})

describe('meetingPoint', () => {
  test('lets callers go on when all of them are there, and later ones at once', async () => {
    const meet = meetingPoint(2)
    const order: string[] = []
    const first = meet().then(() => order.push('first'))
    await Promise.resolve()
    order.push('alone')
    await Promise.all([first, meet().then(() => order.push('second'))])
    await meet()
    expect(order).toEqual(['alone', 'first', 'second'])
  })
})

test.each<[string, () => unknown, RegExp]>([
  ['a path without a slash', () => holdRequests(fetch, 'token'), /begins with \//],
  ['a URL of a page without an origin', () => signedIn(page, { url: '/home' }), /absolute URL/],
  ['a service without await', () => signedIn(page, { url, service: Promise.resolve() as never }), /Write await/],
  ['no service and no tokens', () => signedIn(page, { url }), /needs a service, or tokens/],
  ['a login route without a service', () => signedIn(page, { url, loginUrl: url }), /needs the service/],
  ['an unknown option', () => signedIn(page, { url, user: 'ada' } as never), /user/],
  ['no handler', () => signedInCookie(undefined as never, {} as never), /handle must be a function/],
  ['no service for a cookie', () => signedInCookie(async () => undefined, {} as never), /service/],
])('%s is config_invalid, and the message says what to write', async (_, call, message) => {
  const failure: unknown = await new Promise((resolve) => resolve(call())).catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: 'config_invalid', message: expect.stringMatching(message) })
  expect(await codeOf(Promise.reject(failure))).toBe('config_invalid')
})
