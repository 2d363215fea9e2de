import { expect, onTestFinished, test } from 'vitest'
import { nextWord, startChildren } from './support/children.ts'
import { freePort } from './support/free-port.ts'

test('two processes are given no port in common, whether they belong to one run of tests or to two', async () => {
  const children = await startChildren(onTestFinished, 'ports-child.ts', [], 2)
  const [first, second] = (await Promise.all(children.map(nextWord))) as [number[], number[]]
  expect(Math.min(first.length, second.length)).toBeGreaterThan(50)
  expect(first.filter((port) => second.includes(port))).toEqual([])
})

test('ports asked for at the same time differ', async () => {
  const ports = await Promise.all(Array.from({ length: 20 }, freePort))
  expect(new Set(ports).size).toBe(20)
})
