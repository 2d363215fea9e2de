import { expect, test } from 'vitest'
import { inProcessLock } from '../../src/storage/lock.ts'
import { memoryStorage } from '../../src/storage/memory.ts'

test('a turn that ends opens the lock for the next one only, not for who comes while that is at work [C-070]', async () => {
  const storage = memoryStorage()
  const order: string[] = []
  const turn = (name: string) => {
    let end = (): void => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    const work = inProcessLock(storage, 'name', async () => {
      order.push(`${name} begins`)
      await ended
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
