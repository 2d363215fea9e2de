import { expect, test } from 'vitest'
import { createJournal } from '../src/journal.ts'

test('the journal keeps the last 10,000 entries, in order', () => {
  let nowMs = 0
  const clock = { nowMs: () => nowMs, state: () => 'running' as const, advance() {}, freeze() {}, unfreeze() {} }
  const journal = createJournal(clock)
  for (nowMs = 1; nowMs <= 25_500; nowMs++) journal.event('consent_approved')
  const entries = journal.entries()
  expect(entries.map(({ atMs }) => atMs)).toEqual(Array.from({ length: 10_000 }, (_, index) => 15_501 + index))
})
