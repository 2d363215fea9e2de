import { expect, test } from 'vitest'
import { recentSignIns } from '../src/session/recent-sign-ins.ts'

test('a session object that is used for years remembers the newest 256 ended sign-ins and 16 tokens, no more', () => {
  const recent = recentSignIns()
  for (let turn = 0; turn < 1_000; turn++) {
    recent.end(`id-${turn}`)
    recent.noteToken(`token-${turn}`, `id-${turn}`)
  }
  expect([743, 744, 999].map((turn) => recent.isOver(`id-${turn}`))).toEqual([false, true, true])
  expect([983, 984, 999].map((turn) => recent.ofToken(`token-${turn}`))).toEqual([undefined, 'id-984', 'id-999'])
})
