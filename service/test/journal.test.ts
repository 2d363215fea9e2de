import { expect, test } from 'vitest'
import { createClock } from '../src/state/clock.ts'
import { createJournal } from '../src/state/journal.ts'

test('the journal keeps the last 10,000 entries, in order', () => {
  let nowMs = 0
  const journal = createJournal(createClock(() => nowMs))
  for (nowMs = 1; nowMs <= 25_500; nowMs++) journal.event('consent_approved')
  const entries = journal.entries()
  expect(entries.map(({ atMs }) => atMs)).toEqual(Array.from({ length: 10_000 }, (_, index) => 15_501 + index))
})
