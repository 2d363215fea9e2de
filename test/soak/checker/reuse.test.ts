import { expect, test } from 'vitest'
import { tokenRefused, type WrittenCall, writtenCall, writtenHistory } from '../../support/written-history.ts'
import { check, type Report } from './check.ts'
import type { HistoryEvent } from './history.ts'

const signIn = (token: string, fromMs: number): WrittenCall =>
  writtenCall('signIn', 'a', fromMs, { token, saved: true, savedMs: fromMs + 5 })
const getToken = (token: string, fromMs: number, more: Partial<WrittenCall> = {}): WrittenCall =>
  writtenCall('getToken', 'b', fromMs, { token, ...more })
const stoodStill = (process: string, [fromMs, toMs]: [number, number]): HistoryEvent[] => [
  { type: 'stalled', process, forMs: toMs - fromMs, monotonicMs: toMs, wallMs: 0 },
]

function judged(calls: readonly WrittenCall[], rest: readonly HistoryEvent[] = []): Report {
  return check(writtenHistory(calls, rest))
}

const broken = { holds: false, violations: [{ promise: 'one line' }] }

test('a refresh token that another holder uses again because none that followed it was saved is a named exception', () => {
  const refreshed = (more: Partial<WrittenCall>): readonly WrittenCall[] => [
    signIn('p1.0', 3_000),
    getToken('p1.1', 4_000, more),
  ]
  const reusedBy = (holder?: string): HistoryEvent[] => [
    tokenRefused('p1.0', 'reused', 60_000, holder === undefined ? {} : { holder }),
  ]
  expect(judged(refreshed({}), reusedBy('c'))).toMatchObject({
    holds: true,
    exceptions: { 'a sign-in or refresh could not be saved': 1 },
    losses: { seen: 0 },
  })
  expect(judged(refreshed({ savedMs: 4_005 }), reusedBy('c'))).toMatchObject(broken)
  // The recording does not say which holder sent the token.
  expect(judged(refreshed({}), reusedBy())).toMatchObject(broken)
  // The holder received tokens of an earlier sign-in.
  const earlier = [signIn('p0.0', 0), writtenCall('getToken', 'c', 1_000, { token: 'p0.1', savedMs: 1_005 })]
  expect(judged([...earlier, ...refreshed({})], reusedBy('c'))).toMatchObject({ holds: true, violations: [] })
  // No save of the session was ever confirmed.
  const pending = writtenCall('signIn', 'a', 3_000, { token: 'p1.0', saved: false })
  expect(judged([pending, getToken('p1.1', 4_000)], reusedBy('a'))).toMatchObject({
    exceptions: { 'a sign-in or refresh could not be saved': 1 },
  })
})

test('a holder that uses its own refresh token again breaks "one line" also if it saved nothing', () => {
  const pending = writtenCall('signIn', 'b', 3_000, { token: 'p1.0', saved: false })
  const reused = tokenRefused('p1.0', 'reused', 60_000, { holder: 'b' })
  expect(judged([pending, getToken('p1.1', 4_000)], [reused])).toMatchObject(broken)
  // The response was recorded without its holder.
  const unnamed = writtenHistory([pending, getToken('p1.1', 4_000)]).map((event): HistoryEvent => {
    if (event.type !== 'issued') return event
    const { holder: _, ...rest } = event
    return rest
  })
  expect(check([...unnamed, tokenRefused('p1.0', 'reused', 60_000, { holder: 'c' })])).toMatchObject(broken)
})

test('a refresh token that a holder used again breaks "one line" also if it could not read that it was used', () => {
  const used = [signIn('p1.0', 3_000), getToken('p1.1', 4_000, { savedMs: 4_005 })]
  const sender = writtenCall('refresh', 'c', 59_000, { toMs: 63_000, outcome: 'storage_failed', reads: 'failing' })
  expect(judged([...used, sender], [tokenRefused('p1.0', 'reused', 60_000)])).toMatchObject(broken)
})

test('a refresh that the service handled after its process had given up is a named exception', () => {
  const used = [signIn('p1.0', 3_000), getToken('p1.1', 15_000, { savedMs: 15_005 })]
  const refused = (atMs: number, sentMs: number): Report =>
    judged(used, [tokenRefused('p1.0', 'reused', atMs, { process: 'c', sentMs })])
  expect(refused(20_000, 4_000)).toMatchObject({
    holds: true,
    exceptions: { 'the service handled a refresh too late': 1 },
    losses: { seen: 0 },
  })
  // It was sent within the grace period, and handled after it.
  expect(refused(60_000, 16_000)).toMatchObject({ holds: true })
  // Its process was still waiting, it was sent after the grace period, and the token that followed it had been used.
  const again = judged(
    [...used, getToken('p1.2', 15_500)],
    [tokenRefused('p1.0', 'reused', 60_000, { process: 'c', sentMs: 16_000 })],
  )
  for (const report of [refused(20_000, 14_000), refused(60_000, 46_000), again]) expect(report).toMatchObject(broken)
})

test('a refresh that its process may have sent late is no exception', () => {
  const used = [signIn('p1.0', 3_000), getToken('p1.1', 15_000, { savedMs: 15_005 })]
  const refused = (more: Parameters<typeof tokenRefused>[3], rest: readonly HistoryEvent[] = []): Report =>
    judged(used, [tokenRefused('p1.0', 'reused', 20_000, more), ...rest])
  const sent = { process: 'c', sentMs: 4_000 }
  for (const report of [
    refused({}),
    refused({ process: 'c' }),
    refused({ sentMs: 4_000 }),
    refused(sent, stoodStill('c', [3_900, 19_900])),
    refused(sent, stoodStill('c', [19_900, 20_100])),
  ])
    expect(report).toMatchObject(broken)
  // Another process stood still, or this one did so before and afterwards.
  const others = [
    ...stoodStill('d', [3_900, 19_900]),
    ...stoodStill('c', [0, 3_900]),
    ...stoodStill('c', [20_100, 30_000]),
  ]
  expect(refused(sent, others)).toMatchObject({ holds: true, violations: [] })
})

test('a history in which the service handled refreshes of more than one session in 100 too late does not hold', () => {
  const of = (sessions: number, late: number): Report => {
    const numbers = Array.from({ length: sessions }, (_, index) => index)
    const calls = numbers.flatMap((index) => {
      const used = [signIn(`p${index}.0`, 3_000), getToken(`p${index}.1`, 15_000, { savedMs: 15_005 })]
      return used.map((each) => ({ ...each, session: `s${index}` }))
    })
    const refused = numbers
      .slice(0, late)
      .map((index) => tokenRefused(`p${index}.0`, 'reused', 20_000, { process: 'c', sentMs: 4_000 }))
    return check(writtenHistory(calls, refused))
  }
  expect(of(2, 1)).toMatchObject({ holds: true, handledLate: { allowed: 1, seen: 1 } })
  expect(of(2, 2)).toMatchObject({ holds: false, violations: [], handledLate: { allowed: 1, seen: 2 } })
  expect(of(100, 2)).toMatchObject({ holds: false, violations: [] })
  expect(of(101, 2)).toMatchObject({ holds: true, handledLate: { allowed: 2, seen: 2 } })
})
