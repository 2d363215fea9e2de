import type { Figure } from '../figures.ts'
import { commands } from './peers.ts'
import { sendOverSockets } from './send.ts'
import { startServerProcess } from './server-process.ts'
import { createUserAgent } from './user-agent.ts'

const target = 1.1
const browsers = 8
const marks = [1_000, 2_500, 5_000, 10_000]
/** From here on the journal is full and every path has run. */
const settledAt = 2_500
const megabyte = 2 ** 20

/**
 * Heap of the service after a collection, while ten thousand people log in. What a login leaves (its grant and the hashes of its
 * tokens, until they expire) is in the database and shows in the resident size alone.
 */
export async function memory(): Promise<Figure[]> {
  const { args, peer } = commands['agent-service']
  const server = await startServerProcess(['--expose-gc', ...args])
  const { send, close } = sendOverSockets()
  const agents = Array.from({ length: browsers }, () => createUserAgent(send, peer(server.said)))
  const heaps = new Map<number, number>()
  const figures: Figure[] = []
  try {
    let done = 0
    for (const mark of marks) {
      await Promise.all(
        agents.map(async (agent) => {
          for (; done < mark; agent.forget()) {
            done += 1
            await agent.login()
          }
        }),
      )
      const heap = (await server.heapBytes()) / megabyte
      heaps.set(mark, heap)
      const name = `memory after ${mark.toLocaleString('en-US')} logins`
      figures.push({ name: `${name}, heap`, value: heap, unit: 'MiB' })
      figures.push({ name: `${name}, resident`, value: (await server.residentBytes()) / megabyte, unit: 'MiB' })
    }
  } finally {
    close()
    await server.stop()
  }
  const growth = (heaps.get(marks.at(-1) ?? 0) ?? Number.NaN) / (heaps.get(settledAt) ?? Number.NaN)
  return [
    ...figures,
    { name: 'memory, heap after 10,000 : 2,500 logins', value: growth, unit: 'x', target: { most: target } },
  ]
}
