import { type Figure, median } from './figures.ts'
import { commands } from './service/peers.ts'
import { startServerProcess } from './service/server-process.ts'
import { throughput } from './service/throughput.ts'

const rounds = 15

/** The service beside servers that keep their state in memory, while it commits to a database. */
export async function service(): Promise<Figure[]> {
  return [await start(), ...(await throughput())]
}

/** Processor time from the start of the process to the end of its first 200. The servers take turns. */
async function start(): Promise<Figure> {
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
  const { 'agent-service': value = Number.NaN, ...peers } = Object.fromEntries(
    [...times].map(([name, values]) => [name, median(values)]),
  )
  const target = { most: 0.6, of: 'oauth2-mock-server' }
  return { name: 'service, start to the first 200', value, unit: 'ms of CPU', peers, target }
}
