import { expect, onTestFinished, test } from 'vitest'
import { createClock } from '../src/state/clock.ts'
import { createJournal } from '../src/state/journal.ts'
import { exchangeBytes } from './raw-socket.ts'
import { startService } from './start.ts'

test('the journal keeps the last 10,000 entries, in order', () => {
  let nowMs = 0
  const journal = createJournal(createClock(() => nowMs))
  for (nowMs = 1; nowMs <= 25_500; nowMs++) journal.event('consent_approved')
  const entries = journal.entries()
  expect(entries.map(({ atMs }) => atMs)).toEqual(Array.from({ length: 10_000 }, (_, index) => 15_501 + index))
})

test('the journal holds no fragment of a request target [S-086]', async () => {
  const service = await startService()
  onTestFinished(service.close)
  await exchangeBytes(service.authUrl, ['GET /a#secret HTTP/1.1', `Host: ${new URL(service.authUrl).host}`])
  const paths = service.dev.journal().flatMap((entry) => ('path' in entry ? [entry.path] : []))
  expect(paths).toEqual(['/a'])
})
