import { expect, test } from 'vitest'
import { inProcessLock } from '../../src/storage/lock.ts'
import { memoryStorage } from '../../src/storage/memory.ts'
import { gate } from '../support/gate.ts'
import { usedHeapBytes } from '../support/heap.ts'

test('a turn that ends opens the lock for the next one only, not for who comes while that is at work', async () => {
  const storage = memoryStorage()
  const order: string[] = []
  const turn = (name: string) => {
    const { passed, open: end } = gate()
    const work = inProcessLock(storage, 'name', async () => {
      order.push(`${name} begins`)
      await passed
      order.push(`${name} ends`)
    })
    return { end, work }
  }
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  const [first, second] = [turn('first'), turn('second')]
  first.end()
  await first.work
  await settle()
  const third = turn('third')
  await settle()
  expect(order).toEqual(['first begins', 'first ends', 'second begins'])
  second.end()
  third.end()
  await Promise.all([second.work, third.work])
  expect(order.slice(3)).toEqual(['second ends', 'third begins', 'third ends'])
})

test('a storage keeps no name whose lock is free again, such as those of old sessions of a backend', async () => {
  const storage = memoryStorage()
  const lockEach = async (names: string): Promise<void> => {
    for (let index = 0; index < 10_000; index++) await inProcessLock(storage, `${names} ${index}`, async () => {})
  }
  await lockEach('warm-up')
  // Names that are kept take more than a megabyte in every round.
  const growths: number[] = []
  for (let round = 0; round < 3; round++) {
    const before = usedHeapBytes()
    await lockEach(`round ${round}`)
    growths.push(usedHeapBytes() - before)
  }
  expect(Math.min(...growths), `heap growth of the rounds: ${growths.join(', ')} bytes`).toBeLessThan(1_000_000)
})
