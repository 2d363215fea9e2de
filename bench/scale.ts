import { saveResults } from './scale/results.ts'

/** In the order they run. Each loads what it needs, and resolves to whether its targets were met. */
const parts: Record<string, () => Promise<boolean>> = {
  outage: async () => (await import('./scale/outage.ts')).outage(),
  async costs() {
    const { costs } = await import('./scale/costs.ts')
    saveResults({ costs: await costs() })
    return true
  },
  async memory() {
    const { memory, mostTimes, timesOf } = await import('./scale/memory.ts')
    const found = await memory()
    saveResults({ memory: found })
    return found.every((one) => one.store !== 'Redis' || timesOf(one) <= mostTimes)
  },
  async lock() {
    const { lockCosts } = await import('./scale/lock.ts')
    saveResults({ lock: await lockCosts() })
    return true
  },
  async plots() {
    const { drawPlots } = await import('./scale/plots.ts')
    drawPlots()
    return true
  },
}

export const scaleHelp: string = `Usage: npm run bench -- scale [part ...]

Measures what many sessions cost, and keeps the figures in bench/scale.json, which docs/scale.md explains. Parts, all by default:

  outage   a simulation of a million sessions: ten minutes without a token endpoint, and a restart of all processes; minutes
  costs    commands and bytes of a sign-in, a call, a refresh and a sign-out, on Redis and PostgreSQL
  memory   10,000, 100,000 and a million records in Redis and PostgreSQL; needs 5 GB of memory and disk
  lock     1 to 1,000 tasks that wait for one lock, in one process and in a process each
  plots    the pictures of docs/scale.md, from bench/scale.json

Exit code 0: every target met, 1: one was missed, 2: no such part.
`

/** Returns the bench of these parts, which resolves to the exit code. */
export function readScale(names: string[]): (() => Promise<0 | 1>) | undefined {
  if (names.some((name) => !Object.hasOwn(parts, name))) return undefined
  return async () => {
    let isMet = true
    for (const name of names.length > 0 ? names : Object.keys(parts)) isMet = (await parts[name]?.()) !== false && isMet
    return isMet ? 0 : 1
  }
}
