import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Clock } from '../../src/internal/clock.ts'
import { type Decision, decide, freshness, type Wanted } from '../../src/session/decide-call.ts'
import { type CurrentRecord, drawMarginMs } from '../../src/session/memory.ts'

const hour = 3_600_000
const wallMs = Date.UTC(2026, 0, 1)

interface Case {
  /** How long ago the access token was granted. */
  readonly ageMs?: number
  /** The same by the wall clock, if the two clocks differ. */
  readonly wallAgeMs?: number
  readonly rev?: number
  readonly lifeMs?: number | undefined
  readonly refreshToken?: string | undefined
  readonly wanted?: Partial<Wanted>
}

const nowMs = 50_000_000
const clock: Clock = { monotonicMs: () => nowMs, wallMs: () => wallMs }
const young = 10_000
const expiring = hour - 30_000
const expired = hour

function decided({ ageMs = young, wallAgeMs = ageMs, rev = 1, wanted, ...rest }: Case): Decision {
  const { lifeMs, refreshToken } = { lifeMs: hour, refreshToken: 'refresh', ...rest }
  const record: CurrentRecord = {
    id: 'sign-in',
    rev,
    tokens: { accessToken: 'access', obtainedAtMs: wallMs - wallAgeMs, ...(refreshToken && { refreshToken }) },
    bornMs: nowMs - ageMs,
    lifeMs,
    marginMs: 60_000,
  }
  return decide(record, clock, { minValidMs: 0, forceRefresh: false, ...wanted })
}

const none: Case = { refreshToken: undefined }
const refused: Case = { wanted: { isRejected: true } }
const forced: Case = { wanted: { forceRefresh: true } }

describe('whether a call uses the token, refreshes it or is refused', () => {
  test('2 without tokens: login_required', () => {
    const wanted: Wanted = { minValidMs: 0, forceRefresh: true }
    expect(decide(undefined, clock, wanted)).toBe('login_required')
  })

  const table: readonly (readonly [string, Case, Decision])[] = [
    ['4 rejected just after a refresh', { ...refused, rev: 2, ageMs: 29_999 }, 'use'],
    [
      '4 rejected just after a refresh, and forced',
      { rev: 2, wanted: { isRejected: true, forceRefresh: true } },
      'use',
    ],
    ['4 rejected 30 s after a refresh', { ...refused, rev: 2, ageMs: 30_000 }, 'refresh_required'],
    ['4 rejected just after a sign-in', { ...refused, rev: 1 }, 'refresh_required'],
    ['4 rejected after the machine slept', { ...refused, rev: 2, wallAgeMs: 30_000 }, 'refresh_required'],
    ['4 rejected after the wall clock was put back', { ...refused, rev: 2, wallAgeMs: -30_000 }, 'refresh_required'],
    [
      '4 rejected just after a refresh, and expired',
      { ...refused, rev: 2, ageMs: 20_000, lifeMs: 20_000 },
      'refresh_required',
    ],
    ['5 fresh', {}, 'use'],
    ['5 fresh, without a refresh token', none, 'use'],
    ['5 of unknown life', { ageMs: 100 * hour, lifeMs: undefined }, 'use'],
    ['6 expiring, without a refresh token', { ...none, ageMs: expiring }, 'use'],
    ['6 expired, without a refresh token', { ...none, ageMs: expired }, 'expire'],
    ['6 rejected, without a refresh token', { ...none, ...refused }, 'login_required'],
    ['6 rejected and expired, without a refresh token', { ...none, ...refused, ageMs: expired }, 'expire'],
    ['6 forced, without a refresh token', { ...none, ...forced }, 'login_required'],
    ['7 expired', { ageMs: expired }, 'refresh_required'],
    ['7 rejected', refused, 'refresh_required'],
    ['7 forced', forced, 'refresh_required'],
    ['7 expiring', { ageMs: expiring }, 'refresh_proactively'],
    ['7 expiring, and forced', { ...forced, ageMs: expiring }, 'refresh_required'],
    ['7 valid for less than minValidMs', { wanted: { minValidMs: hour } }, 'refresh_proactively'],
    ['7 of unknown life, and rejected', { ...refused, lifeMs: undefined }, 'refresh_required'],
  ]

  test.each(table)('%s', (_, given, decision) => {
    expect(decided(given)).toBe(decision)
  })
})

describe('how much of an access token is left', () => {
  const table = [
    ['more than the margin', { lifeMs: hour, ageMs: hour - 60_001 }, 'fresh'],
    ['the margin', { lifeMs: hour, ageMs: hour - 60_000 }, 'expiring'],
    ['a millisecond', { lifeMs: hour, ageMs: hour - 1 }, 'expiring'],
    ['nothing', { lifeMs: hour, ageMs: hour }, 'expired'],
    ['less than minValidMs', { lifeMs: hour, ageMs: hour / 2, minValidMs: hour / 2 }, 'expiring'],
    ['more than minValidMs', { lifeMs: hour, ageMs: hour / 2, minValidMs: hour / 2 - 1 }, 'fresh'],
    ['less than minValidMs, but it is younger than 5 s', { lifeMs: hour, ageMs: 4_999, minValidMs: hour }, 'fresh'],
    ['less than minValidMs, and it is 5 s old', { lifeMs: hour, ageMs: 5_000, minValidMs: hour }, 'expiring'],
    ['less than the margin, in the first half of a short life', { lifeMs: 8_000, ageMs: 3_999 }, 'fresh'],
    ['less than the margin, in the second half of a short life', { lifeMs: 8_000, ageMs: 4_000 }, 'expiring'],
    ['nothing of a life of 0', { lifeMs: 0, ageMs: 0 }, 'expired'],
    ['a millisecond, without a margin', { lifeMs: hour, ageMs: hour - 1, marginMs: 0 }, 'fresh'],
    ['unknown', { lifeMs: undefined, ageMs: 100 * hour, minValidMs: hour }, 'fresh'],
  ] as const

  test.each(table)('%s', (_, { lifeMs, ageMs, ...wanted }, left) => {
    const { minValidMs, marginMs } = { minValidMs: undefined, marginMs: 60_000, ...wanted }
    expect(freshness({ bornMs: nowMs - ageMs, lifeMs, marginMs }, nowMs, minValidMs)).toBe(left)
  })
})

test.each([
  { lifeMs: hour, drawn: 0.25, marginMs: 61_500 },
  { lifeMs: hour, drawn: 0.5, marginMs: 63_000 },
  { lifeMs: 300_000, drawn: 0.25, marginMs: 30_750 },
  { lifeMs: 300_000, drawn: 0.5, marginMs: 31_500 },
])(
  'a token that lives $lifeMs ms is refreshed $marginMs ms before its end if chance draws $drawn',
  ({ lifeMs, drawn, marginMs }) => {
    vi.spyOn(crypto, 'getRandomValues').mockImplementation((array) => {
      if (array instanceof Uint32Array) array[0] = drawn * 2 ** 32
      return array
    })
    onTestFinished(() => void vi.restoreAllMocks())
    expect(drawMarginMs(lifeMs)).toBeCloseTo(marginMs, 6)
  },
)
