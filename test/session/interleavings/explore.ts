import { createHash } from 'node:crypto'
import type { SessionCode } from './session-bundle.ts'
import { type Scenario, World } from './world.ts'

export interface Found {
  readonly states: number
  /** Each kind of violation, with the shortest list of events that leads to it. */
  readonly violations: ReadonlyMap<string, readonly string[]>
}

/** Runs a scenario through all orders of its events with at most this many faults. `until` ends it at the first violation. */
export async function explore(
  code: SessionCode,
  scenario: Scenario,
  { faults, until = 'all' }: { faults: number; until?: 'all' | 'first' },
): Promise<Found> {
  const seen = new Set<string>()
  const violations = new Map<string, readonly string[]>()
  const open: (readonly string[])[] = [[]]
  for (let path = open.pop(); path && !(until === 'first' && violations.size > 0); path = open.pop()) {
    const world = new World(code, scenario, faults)
    for (const event of path) await world.apply(event)
    const events = [...path]
    while (world.violations.length === 0) {
      const key = createHash('md5').update(world.key()).digest('base64')
      if (seen.has(key)) break
      seen.add(key)
      const [next, ...others] = world.events()
      for (const other of others) open.push([...events, other])
      if (next === undefined) {
        await world.finish()
        break
      }
      events.push(next)
      await world.apply(next)
    }
    for (const violation of world.violations) {
      const known = violations.get(violation)
      if (!known || known.length > events.length) violations.set(violation, events)
    }
  }
  return { states: seen.size, violations }
}
