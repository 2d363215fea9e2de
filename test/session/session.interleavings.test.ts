import { expect, test } from 'vitest'
import { explore } from './interleavings/explore.ts'
import { plantedBugs } from './interleavings/planted-bugs.ts'
import { scenarios } from './interleavings/scenarios.ts'
import { bundleSession } from './interleavings/session-bundle.ts'

const sound = await bundleSession()

test.each(Object.entries(scenarios))('%s: no order of events with one fault breaks a promise', async (_, scenario) => {
  const { states, violations } = await explore(sound, scenario, { faults: 1 })
  expect(Object.fromEntries(violations)).toEqual({})
  expect(states).toBeGreaterThan(30)
})

test.each(plantedBugs)('the interleavings find a planted bug: $title', async ({ scenario: name, ...bug }) => {
  const scenario = scenarios[name]
  if (!scenario) throw new Error(`No scenario ${name}`)
  const { violations } = await explore(await bundleSession(bug), scenario, { faults: 1, until: 'first' })
  expect([...violations.keys()]).not.toEqual([])
})
