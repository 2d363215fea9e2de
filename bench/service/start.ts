import type { Figure } from '../figures.ts'
import { median } from '../figures.ts'
import { commands } from './peers.ts'
import { startServerProcess } from './server-process.ts'
import { targets } from './targets.ts'

/** Processor time from the start of the process to the end of its first 200; the servers take turns. */
export async function start({ rounds }: { rounds: number }): Promise<Figure[]> {
  const times = new Map(Object.keys(commands).map((name) => [name, [] as number[]]))
  for (let round = 0; round < rounds; round++) {
    for (const [name, { args, firstUrl }] of Object.entries(commands)) {
      const server = await startServerProcess(args)
      const response = await fetch(firstUrl(server.said))
      await response.text()
      if (response.status !== 200) throw new Error(`${name} answered ${response.status} at first`)
      times.get(name)?.push(await server.cpuMs())
      await server.stop()
    }
  }
  const medians = new Map([...times].map(([name, values]) => [name, median(values)]))
  const ratio = (medians.get('agent-service') ?? Number.NaN) / (medians.get('oauth2-mock-server') ?? Number.NaN)
  return [
    ...[...medians].map(([name, value]) => ({ name: `start to first 200, ${name}`, value, unit: 'ms of CPU' })),
    { name: 'start, agent-service : oauth2-mock-server', value: ratio, unit: 'x', target: { most: targets.start } },
  ]
}
