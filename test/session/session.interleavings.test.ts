import { expect, test } from 'vitest'
import { explore } from './interleavings/explore.ts'
import { plantedBugs } from './interleavings/planted-bugs.ts'
import { scenarios } from './interleavings/scenarios.ts'
import { bundleSession } from './interleavings/session-bundle.ts'

/** `FAULTS=2` takes minutes. */
const faults = Number(process.env.FAULTS ?? 1)
const sound = await bundleSession()

test.each(Object.entries(scenarios))(
  `%s: no order of events with ${faults} faults breaks a promise`,
  async (_, scenario) => {
    const { states, violations } = await explore(sound, scenario, { faults })
    expect(Object.fromEntries(violations)).toEqual({})
    expect(states).toBeGreaterThan(30)
  },
  faults > 1 ? 600_000 : undefined,
)

test.each(plantedBugs)('the interleavings find a planted bug: $title', async ({ scenario: name, ...bug }) => {
  const scenario = scenarios[name]
  if (!scenario) throw new Error(`No scenario ${name}`)
  const { violations } = await explore(await bundleSession(bug), scenario, { faults: 1, until: 'first' })
  expect([...violations.keys()]).not.toEqual([])
})
