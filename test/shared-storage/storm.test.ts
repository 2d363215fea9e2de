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

// The full size, 20 sessions with 100 requests, is `npm run bench -- storms`, and 200 rounds of it `npm run soak -- storms-redis`. An
// operation of a storage fails after 5 s, and a machine that runs other tests as well needs longer for more sessions.
for (const kind of ['redis', 'postgres'] as const)
  test(`${kind}: 4 processes, 8 sessions, all expired at once: one refresh each, no failure`, {
    tags: [kind],
  }, async () => {
    // The service refuses a call of one tenant that waits for more than 15 s.
    const size = { processes: 4, sessions: 8, requests: 2, rounds: 1, callsAtOnce: 5 }
    const url = kind === 'redis' ? await serverUrl('redis') : database.url
    const rounds = await storm(onTestFinished, { kind, url, ...size })
    for (const { tookMs: _, ...seen } of rounds)
      expect(seen).toEqual({ ok: 64, failures: {}, ended: 0, refreshes: 8, reused: 0 })
    expect(rounds).toHaveLength(1)
  })
