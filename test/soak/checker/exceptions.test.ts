import { expect, test } from 'vitest'
import { fault, tokenRefused, type WrittenCall, writtenCall, writtenHistory } from '../../support/written-history.ts'
import { check, type Report } from './check.ts'
import type { HistoryEvent } from './history.ts'

const failover = fault('failover', [1_000, 2_000], { losesSinceMs: 1_000, mayCost: 10_000 })
const signIn = (token: string, fromMs: number, holder = 'a'): WrittenCall =>
  writtenCall('signIn', holder, fromMs, { token, saved: true, savedMs: fromMs + 5 })
const signOut = (fromMs: number): WrittenCall => writtenCall('signOut', 'a', fromMs, {})
const getToken = (token: string, fromMs: number, more: Partial<WrittenCall> = {}): WrittenCall =>
  writtenCall('getToken', 'b', fromMs, { token, ...more })
const signedOut = (fromMs: number): WrittenCall => writtenCall('getToken', 'b', fromMs, { outcome: 'login_required' })

function judged(calls: readonly WrittenCall[], rest: readonly HistoryEvent[] = []): Report {
  return check(writtenHistory(calls, [...failover, ...rest]))
}

const excused = { holds: true, violations: [], exceptions: { 'writes lost by failover': 1 } }
const broken = (...promises: string[]): object => ({
  holds: false,
  violations: promises.map((promise) => ({ promise })),
})

test('a sign-out that a fault may have lost is an exception until the next sign-out', () => {
  const lost = [signIn('p1', 0), signOut(1_500)]
  expect(judged([...lost, getToken('p1', 5_000)])).toMatchObject(excused)
  expect(judged([...lost, signOut(4_000), getToken('p1', 5_000)])).toMatchObject(broken('sign-out'))
  // One that was confirmed long before the fault is not lost, also if a later one is.
  expect(judged([signIn('p1', -9_000), signOut(-5_000), signOut(1_500), getToken('p1', 5_000)])).toMatchObject(
    broken('sign-out'),
  )
})

test('a sign-in that a fault may have lost is an exception until the next sign-in', () => {
  const lost = [signIn('p1', -9_000), signIn('p2', 1_500)]
  expect(judged([...lost, getToken('p1', 5_000)])).toMatchObject(excused)
  expect(judged([...lost, signedOut(5_000)])).toMatchObject(excused)
  expect(judged([...lost, signIn('p3', 4_000), getToken('p1', 5_000)])).toMatchObject(broken('one line'))
  expect(judged([...lost, signIn('p3', 4_000), signedOut(5_000)])).toMatchObject(broken('stays signed in'))
  // Other writes of the session may be lost, and its sign-in was confirmed long before.
  expect(judged([signIn('p1.0', -9_000), getToken('p1.1', 1_500), signedOut(5_000)])).toMatchObject(
    broken('stays signed in'),
  )
})

test('a token that a fault may have lost is an exception for the holder that had it', () => {
  const older = getToken('p1.0', 5_000)
  const lost = [signIn('p1.0', -9_000), getToken('p1.1', 1_500, { savedMs: 1_505 })]
  expect(judged([...lost, older])).toMatchObject(excused)
  const kept = [signIn('p1.0', -9_000), getToken('p1.1', -5_000, { savedMs: -4_995 }), getToken('p1.2', 1_500)]
  expect(judged([...kept, older])).toMatchObject(broken('no older token'))
  expect(judged([signIn('p1', -9_000, 'b'), signIn('p2', 1_500, 'b'), getToken('p1', 5_000)])).toMatchObject({
    exceptions: { 'writes lost by failover': 1 },
    violations: [],
  })
  // The sign-in of the later token was confirmed long before.
  const replaced = [signIn('p1', -9_000, 'c'), signIn('p2.0', -5_000), getToken('p2.1', 1_500, { savedMs: 1_505 })]
  expect(judged([...replaced, getToken('p1', 5_000, { readMs: -5_000 })])).toMatchObject({ holds: false })
})

test('a refresh token that is used again because a fault lost the next one is an exception until the next confirmed save', () => {
  const lost = [signIn('p1.0', -9_000), getToken('p1.1', 1_500, { savedMs: 1_505 })]
  const reused = tokenRefused('p1.0', 'reused', 60_000)
  expect(judged(lost, [reused])).toMatchObject(excused)
  const saved = getToken('p1.2', 30_000, { savedMs: 30_005 })
  expect(judged([...lost, saved], [reused])).toMatchObject(broken('one line'))
  // The next token was confirmed long before the fault.
  const kept = [signIn('p1.0', -9_000), getToken('p1.1', -5_000, { savedMs: -4_995 }), signOut(1_500)]
  expect(judged(kept, [reused])).toMatchObject(broken('one line'))
})

test('a sign-in that the storage perhaps took is a named exception if a later read finds nothing', () => {
  const pending = writtenCall('signIn', 'b', 3_000, { token: 'p1', saved: false })
  const between = (reads: 'working' | 'failing'): WrittenCall => getToken('p1', 4_000, { reads })
  expect(judged([pending, between('failing'), signedOut(9_000)])).toMatchObject({
    holds: true,
    exceptions: { 'a sign-in or refresh could not be saved': 1 },
  })
  expect(judged([pending, between('working'), signedOut(9_000)])).toMatchObject(broken('stays signed in'))
})

test('a write that was confirmed late counts from its call to its confirmation', () => {
  const pending = writtenCall('signIn', 'a', -9_000, { token: 'p1', saved: false })
  const savedLater = writtenCall('getToken', 'a', 1_400, { token: 'p1', savedMs: 1_405 })
  expect(
    judged([pending, savedLater, writtenCall('getToken', 'a', 5_000, { outcome: 'login_required' })]),
  ).toMatchObject(excused)
  const savedBefore = writtenCall('getToken', 'a', -5_000, { token: 'p1', savedMs: -4_995 })
  expect(
    judged([pending, savedBefore, writtenCall('getToken', 'a', 5_000, { outcome: 'login_required' })]),
  ).toMatchObject(broken('stays signed in'))
})

test('a holder learns of a change within six seconds, and later only by the time in which its process stood still', () => {
  const ended = [signIn('p1', -9_000), signOut(3_000)]
  const late = (fromMs: number, rest: readonly HistoryEvent[] = []): Report =>
    judged([...ended, getToken('p1', fromMs, { readMs: 2_900 })], rest)
  const stoodStill = (process: string): HistoryEvent[] => [
    { type: 'stalled', process, forMs: 9_000, monotonicMs: 12_100, wallMs: 0 },
  ]
  expect(late(9_000)).toMatchObject({ holds: true })
  expect(late(9_100)).toMatchObject(broken('sign-out'))
  expect(late(12_200, stoodStill('b'))).toMatchObject({ holds: true })
  expect(late(18_100, stoodStill('b'))).toMatchObject(broken('sign-out'))
  expect(late(12_200, stoodStill('c'))).toMatchObject(broken('sign-out'))
})

test('what a fault may lose is an exception, which is counted and limited', () => {
  const lost = [signIn('p1', 0), signedOut(5_000)]
  const many = Array.from({ length: 10 }, (_, index) =>
    lost.map((call) => ({ ...call, session: `s${index}`, holder: `${call.holder}${index}` })),
  ).flat()
  const withFault = (more: object, from = 100): Report =>
    check(writtenHistory(many, fault('failover', [from, 2_000], more)))
  expect(withFault({ losesSinceMs: 1_000, mayCost: 10_000 })).toMatchObject({
    holds: true,
    violations: [],
    exceptions: { 'writes lost by failover': 10 },
    examples: { 'writes lost by failover': { promise: 'stays signed in' } },
    losses: { seen: 10, allowed: 10 },
  })
  expect(withFault({ losesSinceMs: 1_000, mayCost: 1 })).toMatchObject({
    holds: false,
    violations: [],
    losses: { allowed: 1 },
  })
  // A fault that loses nothing, one long after the write, and one that came later explain nothing.
  for (const report of [withFault({}), withFault({ losesSinceMs: 50 }), withFault({ losesSinceMs: 9_000 }, 6_000)])
    expect(report).toMatchObject({ holds: false, exceptions: {} })
})

test('a report says how many sessions a user signed in to', () => {
  expect(judged([signedOut(0)])).toMatchObject({ sessions: 1, signedIn: 0 })
  expect(judged([signIn('p1', 0), { ...signedOut(0), session: 's2' }])).toMatchObject({ sessions: 2, signedIn: 1 })
})
