import { expect, test } from 'vitest'
import { tokenRefused, type WrittenCall, writtenHistory } from '../../support/written-history.ts'
import { check, type Report } from './check.ts'
import type { HistoryEvent } from './history.ts'

const during = (fromMs: number) => ({ fromMs, toMs: fromMs + 10 })
const signIn = (token: string, fromMs: number, more: Partial<WrittenCall> = {}): WrittenCall => ({
  kind: 'signIn',
  holder: 'a',
  ...during(fromMs),
  token,
  saved: true,
  ...more,
})
const signOut = (fromMs: number, more: Partial<WrittenCall> = {}): WrittenCall => ({
  kind: 'signOut',
  holder: 'a',
  ...during(fromMs),
  ...more,
})
const getToken = (holder: string, token: string, fromMs: number, more: Partial<WrittenCall> = {}): WrittenCall => ({
  kind: 'getToken',
  holder,
  ...during(fromMs),
  token,
  ...more,
})
const signedOut = (holder: string, fromMs: number, more: Partial<WrittenCall> = {}): WrittenCall => ({
  kind: 'getToken',
  holder,
  ...during(fromMs),
  readMs: fromMs,
  outcome: 'login_required',
  ...more,
})

function judged(calls: readonly WrittenCall[], rest: readonly HistoryEvent[] = []): Report {
  return check(writtenHistory(calls, rest))
}

/** What did not hold, and the calls of the shortest history that shows it. */
function found({ violations, shortest }: Report): unknown {
  const events = shortest?.events ?? []
  return {
    promises: violations.map(({ promise }) => promise),
    calls: events.flatMap((event) => (event.type === 'invoked' ? `${event.kind} ${event.call}` : [])),
  }
}

/** Calls with nothing wrong, beside those that show something. */
const others = [signIn('x', 0, { session: 'other', holder: 'z' }), getToken('z', 'x', 50, { session: 'other' })]
const nothing = { promises: [], calls: [] }

test('a refresh token that is used after its grace breaks "one line"', () => {
  const calls = [signIn('p1.0', 0), { ...getToken('a', 'p1.1', 20), kind: 'refresh' as const }, ...others]
  const report = judged(calls, [tokenRefused('p1.0', 'reused', 60_000)])
  expect(found(report)).toEqual({ promises: ['one line'], calls: ['signIn 0'] })
  expect(report.shortest?.events.map(({ type }) => type)).toEqual([
    'issued',
    'invoked',
    'completed',
    'issued',
    'refused',
  ])
  expect(report.holds).toBe(false)
})

test('a token of a sign-in that a saved one has replaced breaks "one line"', () => {
  const replaced = [signIn('p1', 0), signIn('p2', 20, { holder: 'b' }), ...others]
  const late = (more: Partial<WrittenCall>): Report => judged([...replaced, getToken('c', 'p1', 40, more)])
  expect(found(late({ readMs: 35 }))).toEqual({
    promises: ['one line'],
    calls: ['signIn 0', 'signIn 1', 'getToken 4'],
  })
  // The holder may have read before, so it can learn of it for six seconds yet.
  expect(found(late({ readMs: 25 }))).toEqual(nothing)
  expect(found(late({ readMs: 25, fromMs: 6_100, toMs: 6_110 }))).toMatchObject({ promises: ['one line'] })
  expect(found(judged([...replaced.with(1, signIn('p2', 20, { saved: false })), getToken('c', 'p1', 40)]))).toEqual(
    nothing,
  )
})

test('a sign-in that is not saved yet goes on if the record that replaced it may be gone', () => {
  const pending = [signIn('p1', 0, { holder: 'c', saved: false }), signIn('p2', 20, { holder: 'b' })]
  const call = getToken('c', 'p1', 100, { readMs: 100 })
  expect(found(judged([...pending, call]))).toMatchObject({ promises: ['one line'] })
  // A sign-in that cannot be saved removes the record that it finds.
  for (const remover of [signIn('p3', 40, { holder: 'a', saved: false }), signOut(40)])
    expect(found(judged([...pending, remover, call]))).toEqual(nothing)
  const saved = [signIn('p1', 0, { holder: 'c' }), ...pending.slice(1), signOut(40)]
  expect(found(judged([...saved, call]))).toMatchObject({ promises: expect.arrayContaining(['one line']) })
})

test('wall clocks that differ decide between sign-ins of which neither was saved at once', () => {
  const older = getToken('b', 'p1', 100, { readMs: 100 })
  const both = (aheadMs: number, saved: boolean): Report =>
    judged([signIn('p1', 0, { saved: false, aheadMs, readMs: 5 }), signIn('p2', 20, { holder: 'b', saved }), older])
  expect(found(both(60_000, false))).toEqual(nothing)
  expect(found(both(0, false))).toMatchObject({ promises: ['no older token'] })
  expect(found(both(60_000, true))).toMatchObject({ promises: expect.arrayContaining(['no older token']) })
})

test('a token that is handed out after a sign-out has answered breaks "sign-out"', () => {
  const ended = [signIn('p1', 0), getToken('b', 'p1', 20), signOut(40, { holder: 'b' }), ...others]
  const late = (holder: string, more: Partial<WrittenCall> = {}): Report =>
    judged([...ended, getToken(holder, 'p1', 100, more)])
  expect(found(late('b'))).toEqual({ promises: ['sign-out'], calls: ['signIn 0', 'signOut 2', 'getToken 5'] })
  expect(found(late('a', { readMs: 60 }))).toMatchObject({ promises: ['sign-out'] })
  expect(found(late('a', { readMs: 45 }))).toEqual(nothing)
  expect(found(late('b', { fromMs: 45 }))).toEqual(nothing)
})

test('a sign-out that fails ends the tokens of its own holder, and of no other', () => {
  const failed = [signIn('p1', 0), signOut(40, { outcome: 'storage_failed' })]
  expect(found(judged([...failed, getToken('a', 'p1', 60)]))).toMatchObject({ promises: ['sign-out'] })
  expect(found(judged([...failed, getToken('b', 'p1', 9_000, { readMs: 9_000 })]))).toEqual(nothing)
})

test('a sign-out that fails ends no sign-in that its holder did not know', () => {
  const failed = signOut(40, { holder: 'b', outcome: 'storage_failed' })
  const after = getToken('b', 'p1', 60, { readMs: 60 })
  const judgedWith = (known: readonly WrittenCall[]): unknown =>
    found(judged([signIn('p1', 0), ...known, failed, after]))
  expect(judgedWith([getToken('b', 'p1', 20)])).toMatchObject({ promises: ['sign-out'] })
  const unknown = [[], [getToken('c', 'p1', 20)], [getToken('b', 'p1', 35)], [signIn('p0', -20, { holder: 'b' })]]
  for (const known of unknown) expect(judgedWith(known)).toEqual(nothing)
})

test('a sign-out that failed is a reason for a session to be gone until the next save is confirmed', () => {
  const failed = signOut(0, { holder: 'c', outcome: 'storage_failed' })
  const pending = signIn('p1', 20, { saved: false })
  const before = signIn('p0', -20, { holder: 'b' })
  expect(found(judged([before, failed, pending, signedOut('a', 60)]))).toEqual(nothing)
  const lost = { promises: ['stays signed in'] }
  // Without a write, only the record of an earlier sign-in can have been removed.
  const judgedWith = (writeMs: number): unknown =>
    found(judged([before, failed, pending, signedOut('a', 60, { writeMs })]))
  expect(judgedWith(25)).toEqual(nothing)
  for (const writeMs of [0, 15]) expect(judgedWith(writeMs)).toMatchObject(lost)
  const saved = signIn('p0', 15, { holder: 'b', toMs: 18 })
  const refreshed = [before, getToken('b', 'p0', 35, { savedMs: 38 })]
  for (const saves of [[saved], refreshed])
    expect(found(judged([failed, ...saves, pending, signedOut('a', 60)]))).toMatchObject(lost)
  expect(found(judged([failed, signIn('p1', 20), signedOut('b', 60)]))).toMatchObject(lost)
  expect(found(judged([signOut(0, { holder: 'c' }), pending, signedOut('a', 60)]))).toMatchObject(lost)
})

test('a holder that cannot read the storage is a named exception', () => {
  const ended = [signIn('p1', 0), signOut(40)]
  const report = judged([...ended, getToken('b', 'p1', 60_000, { readMs: 30, reads: 'failing' })])
  expect(report).toMatchObject({ holds: true, exceptions: { 'the storage could not be read': 1 } })
  const knew = judged([...ended, getToken('b', 'p1', 60_000, { readMs: 70, reads: 'failing' })])
  expect(found(knew)).toMatchObject({ promises: ['sign-out'] })
})

test('an older token after a newer one breaks "no older token", for the same holder only', () => {
  const refreshed = [signIn('p1.0', 0), getToken('b', 'p1.1', 20), getToken('c', 'p1.0', 25), ...others]
  expect(found(judged([...refreshed, getToken('c', 'p1.0', 40)]))).toEqual(nothing)
  expect(found(judged([...refreshed, getToken('b', 'p1.0', 40)]))).toEqual({
    promises: ['no older token'],
    calls: ['signIn 0', 'getToken 1', 'getToken 5'],
  })
  const lines = (saved: boolean): WrittenCall[] => [signIn('p1', 0, { saved }), signIn('p2', 20, { holder: 'b' })]
  const signedOutBetween = [signOut(40, { holder: 'b' }), getToken('b', 'p1', 60, { readMs: 60 })]
  expect(found(judged([...lines(false), ...signedOutBetween]))).toEqual(nothing)
  const failedBefore = [signOut(40, { outcome: 'storage_failed' }), getToken('b', 'p2', 60), getToken('b', 'p1', 80)]
  expect(found(judged([...lines(false), ...failedBefore]))).toEqual(nothing)
  // A sign-in that cannot be saved removes the record that it finds.
  const removedBetween = [signIn('p3', 40, { holder: 'c', saved: false }), ...signedOutBetween.slice(1)]
  expect(found(judged([...lines(false), ...removedBetween]))).toEqual(nothing)
  for (const between of [signedOutBetween, removedBetween])
    expect(found(judged([...lines(true), ...between]))).toMatchObject({
      promises: expect.arrayContaining(['no older token']),
    })
  // The holder of the later one was told that it is gone, which is judged by itself.
  const older = getToken('b', 'p1', 60, { readMs: 60 })
  const gone = (told: WrittenCall, saved = false): unknown =>
    found(judged([signIn('p1', 0, { saved }), signIn('p2', 20, { holder: 'b', saved: false }), told, older]))
  expect(gone(signedOut('b', 40))).toMatchObject({ promises: ['stays signed in'] })
  for (const told of [signedOut('c', 40), signedOut('b', 5), signedOut('b', 80)])
    expect(gone(told)).toMatchObject({ promises: expect.arrayContaining(['no older token']) })
  expect(gone(signedOut('b', 40), true)).toMatchObject({ promises: ['no older token', 'stays signed in'] })
  // Both ran at once, so that none is certain to be the later one.
  expect(found(judged([...refreshed, getToken('b', 'p1.0', 25)]))).toEqual(nothing)
})

test('a session that is gone without a reason breaks "stays signed in"', () => {
  const calls = [signIn('p1', 0), ...others]
  expect(found(judged([...calls, signedOut('b', 40)]))).toEqual({
    promises: ['stays signed in'],
    calls: ['signIn 0', 'getToken 3'],
  })
  // It began before the sign-in had ended, or shared a read that did.
  for (const early of [signedOut('b', 5), signedOut('b', 40, { readMs: 5 })])
    expect(found(judged([...calls, early]))).toEqual(nothing)
  expect(found(judged([...calls, signedOut('b', 40, { outcome: 'temporarily_unavailable' })]))).toEqual(nothing)
})

test('a sign-out, a refusal and a sign-in that was not saved are reasons for a session to be gone', () => {
  const gone = signedOut('b', 40)
  const killed: WrittenCall = { kind: 'signOut', holder: 'a', fromMs: 20 }
  for (const reason of [signOut(20), signOut(45), signOut(20, { outcome: 'storage_failed' }), killed])
    expect(found(judged([signIn('p1', 0), reason, gone]))).toEqual(nothing)
  expect(found(judged([signIn('p1', 0), signIn('p2', 20, { saved: false }), gone]))).toEqual(nothing)
  expect(found(judged([signIn('p1', 0), gone], [tokenRefused('p1.0', 'revoked', 30)]))).toEqual(nothing)
  // None of these ended this sign-in.
  expect(found(judged([signOut(0), signIn('p1', 20), signedOut('b', 40)]))).toMatchObject({
    promises: ['stays signed in'],
  })
  const refused = [tokenRefused('p0.0', 'revoked', 30)]
  expect(found(judged([signIn('p0', 0), signIn('p1', 20), signedOut('b', 40)], refused))).toMatchObject({
    promises: ['stays signed in'],
  })
})

test('a token of another user, of another record or of no service breaks "own tokens"', () => {
  const calls = [signIn('p1', 0), ...others]
  expect(found(judged([...calls, getToken('a', 'x', 60)]))).toEqual({ promises: ['own tokens'], calls: ['getToken 3'] })
  const unknown = writtenHistory([...calls, getToken('a', 'made', 60)]).filter(
    (event) => event.type !== 'issued' || event.access !== 'made',
  )
  expect(found(check(unknown))).toEqual({ promises: ['own tokens'], calls: ['getToken 3'] })
})
