// @module-tag slow

import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { fileKills } from '../support/file-kills.ts'
import { freshFile } from '../support/fresh-file.ts'
import { storm } from '../support/storm.ts'

// 500 rounds are `npm run soak -- storms-file`.
test('8 processes with 50 requests each on one file at expiry: one refresh, no torn read, no failure [P-03 D-24]', async () => {
  const path = freshFile(onTestFinished)
  let isOver = false
  const storming = storm(onTestFinished, {
    kind: 'file',
    url: path,
    processes: 8,
    sessions: 1,
    requests: 50,
    rounds: 1,
    // The service refuses more of one tenant.
    callsAtOnce: 1,
  }).finally(() => {
    isOver = true
  })
  let reads = 0
  const texts = new Set<string>()
  while (!isOver) {
    // The service of this test needs the processor as well.
    await sleep(5)
    const text = read(path)
    if (text === undefined) continue
    reads += 1
    if (!texts.has(text)) expect(Object.keys(JSON.parse(texts.add(text) && text).records)).toHaveLength(1)
  }
  for (const { tookMs: _, ...seen } of await storming)
    expect(seen).toEqual({ ok: 400, failures: {}, ended: 0, refreshes: 1, reused: 0 })
  expect(reads).toBeGreaterThan(texts.size)
})

// 5,000 kills are `npm run soak -- kills-file`, and at a service without a grace period `npm run soak -- kills-no-grace`.
test('6 SIGKILLs of a process that refreshes without a pause: no lost session, no damaged file [P-07 C-080]', async () => {
  const report = await fileKills(onTestFinished, { lanes: 3, kills: 6 })
  expect(report).toMatchObject({ kills: 6, lost: 0, torn: 0 })
})

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
