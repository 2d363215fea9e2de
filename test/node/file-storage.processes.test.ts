import { expect, onTestFinished, test } from 'vitest'
import { crashAtEachStep } from '../support/crash-points.ts'

test('a SIGKILL at each step of a refresh: no lost session, no damaged file', async () => {
  const { steps, outcomes, torn } = await crashAtEachStep(onTestFinished)
  const [create, write] = ['openSync', ['writeFileSync', 'half of writeFileSync']]
  const save = [create, ...write, 'fsyncSync', 'renameSync', 'fsyncSync']
  const acquire = [create, ...write, 'renameSync', ...save]
  const release = [create, 'unlinkSync', 'unlinkSync']
  expect(steps).toEqual([...acquire, 'request', 'response', ...save, ...release])
  expect(new Set(outcomes)).toEqual(new Set(['refreshed']))
  expect(torn).toBe(0)
})
