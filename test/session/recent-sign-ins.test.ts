import { createSession } from 'agent-auth'
import { expect, test } from 'vitest'
import { recentSignIns } from '../../src/session/recent-sign-ins.ts'
import { usedHeapBytes } from '../support/heap.ts'
import { configWith } from '../support/token-flow.ts'

test('a session object that is used for years remembers the newest 256 ended sign-ins and 16 tokens, no more', () => {
  const recent = recentSignIns()
  for (let turn = 0; turn < 1_000; turn++) {
    recent.markEnded(`id-${turn}`)
    recent.noteToken(`token-${turn}`, `id-${turn}`)
  }
  expect([743, 744, 999].map((turn) => recent.isUnwanted(`id-${turn}`))).toEqual([false, true, true])
  expect([983, 984, 999].map((turn) => recent.signInOf(`token-${turn}`))).toEqual([undefined, 'id-984', 'id-999'])
})

test('a sign-in that was replaced elsewhere counts as ended until its record is written over', () => {
  const recent = recentSignIns()
  recent.markReplaced('replaced')
  expect(recent.isUnwanted('replaced')).toBe(true)
  recent.markWrittenOver('replaced')
  expect(recent.isUnwanted('replaced')).toBe(false)
  // A write that failed is tried again.
  recent.markWrittenOver('replaced')
  expect(recent.isUnwanted('replaced')).toBe(false)
  recent.markReplaced('replaced')
  expect(recent.isUnwanted('replaced')).toBe(false)
})

test('a sign-in that was signed out here stays ended, also if it was replaced elsewhere before', () => {
  const recent = recentSignIns()
  recent.markReplaced('signed-out')
  recent.markEnded('signed-out')
  recent.markWrittenOver('signed-out')
  expect(recent.isUnwanted('signed-out')).toBe(true)
})

test('a session object that is used for years keeps nothing of each sign-in and sign-out', async () => {
  const session = createSession(configWith())
  const signInAndOut = async (times: number): Promise<void> => {
    for (let turn = 0; turn < times; turn++) {
      await session.signIn({ accessToken: 'token', obtainedAtMs: 0 })
      await session.signOut()
    }
  }
  await signInAndOut(600)
  // One id for each sign-in takes more than 330 kB in every round. What else is on the heap changes by less than
  // 200 kB in most rounds, but the runtime can compile and move more in one of them. So one round without it is enough.
  const growths: number[] = []
  const least = (): number => Math.min(...growths)
  while (growths.length < 3 && least() >= 300_000) {
    const before = usedHeapBytes()
    await signInAndOut(2_500)
    growths.push(usedHeapBytes() - before)
  }
  expect(least(), `heap growth of the rounds: ${growths.join(', ')} bytes`).toBeLessThan(300_000)
})
