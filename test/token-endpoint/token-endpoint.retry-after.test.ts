import fc from 'fast-check'
import { expect, test } from 'vitest'
import { refreshTokens } from '../../src/token-endpoint.ts'
import { testClock } from '../support/clock.ts'
import { leastMs } from '../support/least-ms.ts'
import { configWith, failure, scriptedFetch, tokensWith } from '../support/token-flow.ts'

const nowMs = Date.UTC(2026, 0, 1)
const clock = testClock(nowMs)
const tokens = tokensWith()
const numRuns = 80

/** The wait that an error of the token endpoint names for this `Retry-After`. */
async function waitOf(value: string): Promise<number | undefined> {
  const answer = () => new Response(null, { status: 503, headers: { 'retry-after': value } })
  const error = await failure(refreshTokens(configWith({ clock, fetch: scriptedFetch(answer).fetch }), tokens))
  const { outcome, retryAfterMs, ...more } = error.details ?? {}
  expect({ code: error.code, outcome, more }).toEqual({ code: 'temporarily_unavailable', outcome: 'busy', more: {} })
  return retryAfterMs
}

const clamped = (waitMs: number): number => Math.min(Math.max(waitMs, 0), 300_000)
const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

/** RFC 9110 section 5.6.7: the one to write, and the obsolete one that ends in GMT too. */
function written(date: Date, style: 'imf-fixdate' | 'rfc850'): string {
  const [, day, month, year, time] = date.toUTCString().split(' ')
  if (style === 'imf-fixdate') return date.toUTCString()
  return `${days[date.getUTCDay()]}, ${day}-${month}-${year?.slice(-2)} ${time} GMT`
}

test('a delay or a date written by the grammar is the wait it says, of five minutes at most', async () => {
  const seconds = fc.oneof(fc.nat({ max: 400 }), fc.bigInt({ min: 0n, max: 10n ** 40n }), fc.nat())
  const delay = fc.tuple(fc.stringMatching(/^0{0,3}$/), seconds).map(([zeros, value]) => {
    return { text: zeros + value, waitMs: Number(value) * 1_000 }
  })
  const fromNow = fc.oneof(fc.integer({ min: -600, max: 600 }), fc.integer({ min: -(10 ** 8), max: 10 ** 8 }))
  const date = fc.tuple(fromNow, fc.constantFrom('imf-fixdate' as const, 'rfc850' as const)).map(([after, style]) => {
    return { text: written(new Date(nowMs + after * 1_000), style), waitMs: after * 1_000 }
  })
  await fc.assert(
    fc.asyncProperty(fc.oneof(delay, date), async ({ text, waitMs }) => {
      expect({ text, waitMs: await waitOf(text) }).toEqual({ text, waitMs: clamped(waitMs) })
    }),
    { numRuns },
  )
})

test('anything else counts as none, and nothing is thrown', async () => {
  const seconds = /^\d+$/
  // Also what only has the shape of a date, as long as it can be read as one.
  const date = /^\w+, [\w -]+ [\d:]+ GMT$/
  const pieces = ['GMT', ' GMT', ' ', ', ', ':', '-', '+', '.', 'e', '0', '1', '31', '2026', '2099', '00:00:00']
  const words = ['Thu', 'Thursday', 'Jan', 'xyz', 'soon', '(', ')', 'Z', 'T', 'UTC', 'Infinity', '\t', 'é']
  const bytes = fc.integer({ min: 32, max: 255 }).map((code) => String.fromCharCode(code))
  const nearly = fc.tuple(fc.nat(30), fc.nat(4), fc.constantFrom('', ...pieces, ...words)).map(([at, cut, put]) => {
    const good = written(new Date(nowMs + 60_000), 'imf-fixdate')
    return good.slice(0, at) + put + good.slice(at + cut)
  })
  const text = fc.oneof(
    fc.array(fc.constantFrom(...pieces, ...words), { maxLength: 9 }).map((parts) => parts.join('')),
    fc.string({ unit: bytes, maxLength: 20 }),
    fc.stringMatching(/^[\d.,e+-]{1,5}$/),
    nearly,
  )
  await fc.assert(
    fc.asyncProperty(text, async (value) => {
      const waitMs = await waitOf(value)
      // A header's outer blanks are no part of its value.
      const isWritten = seconds.test(value.trim()) || date.test(value.trim())
      if (waitMs !== undefined)
        expect({ value, isWritten, waitMs: clamped(waitMs) }).toEqual({ value, isWritten: true, waitMs })
    }),
    { numRuns },
  )
})

test.each(['9', ' ', ' GMT', 'Thu, ', '(', '0 ', ':', '-'])('100 KB of %j take less than 50 ms', async (unit) => {
  const long = unit.repeat(Math.ceil(100_000 / unit.length))
  for (const value of [long, `Thu, 01 Jan 2026 ${long} GMT`])
    expect(await leastMs(() => waitOf(value))).toBeLessThan(50)
})
