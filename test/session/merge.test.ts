import { expect, test } from 'vitest'
import { type Merged, type Mine, merge, type SessionRecord, type Stored } from '../../src/session/record.ts'

const record = (id: string, rev: number, signedInAtMs: number): SessionRecord => ({
  id,
  rev,
  signedInAtMs,
  tokens: { accessToken: `${id}-${rev}`, obtainedAtMs: signedInAtMs },
})
const mine = record('B', 2, 20)

const withTokens: readonly (readonly [what: string, stored: Stored, merged: Merged])[] = [
  ['the same record', record('B', 2, 20), 'keep'],
  ['an earlier revision', record('B', 1, 20), 'unsaved'],
  ['a later revision', record('B', 3, 20), 'take'],
  ['the same revision with another token', { ...mine, tokens: { accessToken: 'other', obtainedAtMs: 20 } }, 'take'],
  ['an earlier sign-in', record('A', 9, 10), 'unsaved'],
  ['a later sign-in', record('C', 1, 30), 'take'],
  ['a sign-in of the same time', record('C', 1, 20), 'take'],
  ['a later sign-in that ended here', record('ended', 1, 30), 'unsaved'],
  ['no record', 'absent', 'end'],
  ['text that is no record', 'unreadable', 'unsaved'],
  ['the record of a newer version', 'newer', 'unsaved'],
  ['the record of another session', 'foreign', 'unsaved'],
]

test.each(withTokens)('with tokens in memory, a read that shows %s', (_, stored, merged) => {
  expect(merge(stored, { record: mine, ended: ['ended'], expired: undefined })).toBe(merged)
})

const withoutTokens: readonly (readonly [what: string, stored: Stored, merged: Merged])[] = [
  ['a record', mine, 'take'],
  ['a sign-in that ended here', record('ended', 1, 30), 'remove'],
  ['a sign-in that expired here', record('expired', 1, 30), 'keep'],
  ['no record', 'absent', 'keep'],
  ['text that is no record', 'unreadable', 'keep'],
  ['the record of a newer version', 'newer', 'keep'],
  ['the record of another session', 'foreign', 'keep'],
]

test.each(withoutTokens)('without tokens in memory, a read that shows %s', (_, stored, merged) => {
  const nothing: Mine = { record: undefined, ended: ['ended', 'expired'], expired: 'expired' }
  expect(merge(stored, nothing)).toBe(merged)
})
