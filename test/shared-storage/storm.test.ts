// @module-tag slow

import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { freshDatabase } from '../support/fresh-database.ts'
import type { FreshDatabase } from '../support/postgres-server.ts'
import { serverUrl } from '../support/servers-client.ts'
import { storm } from '../support/storm.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.drop())

// The full size, 100 requests, is `npm run bench -- storms`, and 200 rounds of it `npm run soak -- storms-redis`.
for (const kind of ['redis', 'postgres'] as const)
  test(`${kind}: 4 processes, 20 sessions, all expired at once: one refresh each, no failure [P-04 C-069 C-071]`, {
    tags: [kind],
  }, async () => {
    // The service refuses a call of one tenant that waits for more than 15 s.
    const size = { processes: 4, sessions: 20, requests: 2, rounds: 1, callsAtOnce: 5 }
    const url = kind === 'redis' ? await serverUrl('redis') : database.url
    const rounds = await storm(onTestFinished, { kind, url, ...size })
    for (const { tookMs: _, ...seen } of rounds)
      expect(seen).toEqual({ ok: 160, failures: {}, ended: 0, refreshes: 20, reused: 0 })
    expect(rounds).toHaveLength(1)
  })
