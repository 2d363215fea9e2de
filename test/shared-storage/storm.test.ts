import { expect, onTestFinished, test } from 'vitest'
import { databaseOfFile } from '../support/database-of-file.ts'
import { freshFile } from '../support/fresh-file.ts'
import { serverUrl } from '../support/servers-client.ts'
import { storm } from '../support/storm.ts'

const database = databaseOfFile()

const urls = {
  redis: () => serverUrl('redis'),
  postgres: () => database.url,
  file: () => freshFile(onTestFinished),
}

for (const kind of ['redis', 'postgres', 'file'] as const)
  test(`${kind}: 4 processes, 8 sessions, all expired at once: one refresh each, no failure`, {
    tags: kind === 'file' ? [] : [kind],
  }, async () => {
    // The service refuses a call of one tenant that waits for more than 15 s.
    const size = { processes: 4, sessions: 8, requests: 2, rounds: 1, callsAtOnce: 5 }
    const [round] = await storm(onTestFinished, { kind, url: await urls[kind](), ...size })
    expect(round).toEqual({ ok: 64, failures: {}, ended: 0, refreshes: 8, reused: 0, tookMs: expect.any(Number) })
  })
