import { describe, expect, test } from 'vitest'
import { type ExpectedRecord, reconcile, type StoredChange } from '../../src/session/reconcile.ts'
import type { SessionRecord, Stored } from '../../src/session/record.ts'

const record = (id: string, rev: number, obtainedAtMs = 1_000): SessionRecord => ({
  id,
  rev,
  tokens: { accessToken: `${id}${rev}`, obtainedAtMs },
})

const current = record('mine', 2)
const before = record('mine', 1)
const earlier = record('earlier', 1)
const older = record('older', 1, 999)
const later = record('later', 1, 1_001)

const keep: StoredChange = { change: 'none' }
const end: StoredChange = { change: 'end' }
const take = (taken: SessionRecord): StoredChange => ({ change: 'take', record: taken })
const expecting = (expected: ExpectedRecord): StoredChange => ({ change: 'expect', expected })
const saved: ExpectedRecord = { kind: 'saved' }
type Over = SessionRecord | 'absent' | 'unread'
const unsaved = (over: Over): ExpectedRecord => ({ kind: 'unsaved', over })
const perhapsSaved = (over: Over): ExpectedRecord => ({ kind: 'perhaps_saved', over })
const wasSaved = (over: Over): ExpectedRecord => ({ kind: 'was_saved', over })
/** What the record of an earlier sign-in means if it is not the one to write over. */
const over = (expected: ExpectedRecord, stored: SessionRecord): ExpectedRecord => {
  const isFirstRead = 'over' in expected && expected.over === 'unread'
  return expected.kind === 'unsaved' || isFirstRead ? unsaved(stored) : wasSaved(stored)
}
const leftAlone: ExpectedRecord = { kind: 'left_alone' }

describe('what a stored record changes in a session that has tokens', () => {
  const expectations: readonly (readonly [string, ExpectedRecord])[] = [
    ['saved', saved],
    ['the first save is in progress', { kind: 'first_save', write: 'none' }],
    ['unsaved over nothing', unsaved('absent')],
    ['unsaved over the record of another sign-in', unsaved(earlier)],
    ['perhaps written over nothing', perhapsSaved('absent')],
    ['perhaps written over the record of another sign-in', perhapsSaved(earlier)],
    ['a refresh that is not saved', wasSaved(before)],
    ['saved once, and the record of another sign-in came back', wasSaved(earlier)],
    ['never read, not written', unsaved('unread')],
    ['never read, perhaps written', perhapsSaved('unread')],
    ['left alone', leftAlone],
  ]
  const absent = expecting(unsaved('absent'))
  // One column for each expectation above, in that order.
  const table: readonly (readonly [string, Stored, readonly StoredChange[]])[] = [
    ['the current record', current, Array.from(expectations, () => expecting(saved))],
    ['no record', 'absent', [end, keep, absent, absent, end, end, end, end, absent, end, end]],
    ['a record that no key opens', 'unreadable', [absent, keep, ...Array.from({ length: 9 }, () => absent)]],
    ['a newer version', 'newer', Array.from(expectations, () => expecting(leftAlone))],
    [
      'the record to write over',
      earlier,
      [
        take(earlier),
        keep,
        take(earlier),
        keep,
        take(earlier),
        expecting(unsaved(earlier)),
        take(earlier),
        keep,
        take(earlier),
        take(earlier),
        take(earlier),
      ],
    ],
    [
      'an earlier revision',
      before,
      Array.from(expectations, ([, expected]) => {
        const isKnown = expected.kind === 'first_save' || ('over' in expected && expected.over === before)
        return isKnown ? keep : expecting(wasSaved(before))
      }),
    ],
    [
      'a later revision',
      record('mine', 3),
      Array.from(expectations, ([, { kind }]) => (kind === 'first_save' ? keep : take(record('mine', 3)))),
    ],
    [
      'a sign-in that ended here',
      record('ended', 1),
      Array.from(expectations, ([, expected]) =>
        expected.kind === 'first_save' ? keep : expecting(over(expected, record('ended', 1))),
      ),
    ],
    [
      'a later sign-in',
      later,
      Array.from(expectations, ([, { kind }]) => (kind === 'first_save' ? keep : take(later))),
    ],
    [
      'an earlier sign-in that was saved late',
      { ...older, late: true },
      Array.from(expectations, ([, expected]) => {
        if (expected.kind === 'first_save') return keep
        const late = { ...older, late: true }
        return 'over' in expected ? expecting(over(expected, late)) : take(late)
      }),
    ],
    [
      // By the clock of another machine. This session did not find it when it signed in.
      'a sign-in that was saved at once and has an earlier time',
      older,
      Array.from(expectations, ([, expected]) => {
        if (expected.kind === 'first_save') return keep
        return 'over' in expected && expected.over === 'unread' ? expecting(over(expected, older)) : take(older)
      }),
    ],
  ]
  const cases = table.flatMap(([shown, stored, changes]) =>
    expectations.map(([name, expected], index) => ({ name, shown, stored, expected, change: changes[index] })),
  )

  test.each(cases)('$name, the store shows $shown: $change.change', ({ stored, expected, change }) => {
    expect(reconcile(stored, { record: current, expected, isUnwanted: (id) => id === 'ended' })).toEqual(change)
  })

  test('a record of the same revision with another access token is taken over', () => {
    const other: SessionRecord = { ...current, tokens: { ...current.tokens, accessToken: 'other' } }
    expect(reconcile(other, { record: current, expected: saved, isUnwanted: () => false })).toEqual(take(other))
  })
})
