// @module-tag slow

import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { crashAtEachStep } from '../support/crash-points.ts'
import { fileKills } from '../support/file-kills.ts'
import { freshFile } from '../support/fresh-file.ts'
import { storm } from '../support/storm.ts'

// 500 rounds with every request sent are `npm run soak -- storms-file`.
test('8 processes with 50 requests each on one file at expiry: one refresh, no torn read, no failure, 6 times', async () => {
  const path = freshFile(onTestFinished)
  let isOver = false
  const size = { processes: 8, sessions: 1, requests: 50, rounds: 6, sent: 'first' } as const
  const storming = storm(onTestFinished, { kind: 'file', url: path, ...size }).finally(() => {
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
  const rounds = await storming
  expect(rounds).toHaveLength(size.rounds)
  for (const { tookMs: _, ...seen } of rounds)
    expect(seen).toEqual({ ok: 400, failures: {}, ended: 0, refreshes: 1, reused: 0 })
  expect(reads).toBeGreaterThan(texts.size)
})

test('a SIGKILL at each step of a refresh: no lost session, no damaged file', async () => {
  const { steps, outcomes, torn } = await crashAtEachStep(onTestFinished)
  const [create, write] = ['openSync', ['writeFileSync', 'half of writeFileSync']]
  const acquire = [create, ...write, 'renameSync']
  const save = [create, ...write, 'fsyncSync', 'renameSync', 'fsyncSync']
  const release = [create, 'unlinkSync', 'unlinkSync']
  expect(steps).toEqual([...acquire, 'request', 'response', ...save, ...release])
  expect(new Set(outcomes)).toEqual(new Set(['refreshed']))
  expect(torn).toBe(0)
})

// 5,000 kills of one session each are `npm run soak -- kills-file`, and without a grace period `npm run soak -- kills-no-grace`.
test('25 SIGKILLs at random times of 8 sessions each: no lost session, no damaged file, no refresh that fails', async () => {
  const report = await fileKills(onTestFinished, { lanes: 4, sessions: 8, kills: 25 })
  expect(report).toEqual({ kills: 25, lost: 0, missing: 0, torn: 0, failures: {} })
}, 600_000)

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
