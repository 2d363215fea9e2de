import { createServer } from 'node:net'

/** Below the ports that a system gives out by itself: no outgoing connection and no `listen(0)` takes one meanwhile. */
const lowest = 10_000
/** A node of a Redis Cluster also listens 10,000 above its port, so all of them lie below 20,000. */
const ofEachWorker = 600
const mostWorkers = 16

const worker = Number(process.env.VITEST_POOL_ID ?? 0) % mostWorkers
// A worker gives no port twice, and two workers give no port in common.
let next = Math.floor(Math.random() * ofEachWorker)

/** Finds a port for a server that cannot choose its own: nothing listens on it, and no test of this run is given it as well. */
export async function freePort(): Promise<number> {
  next = (next + 1) % ofEachWorker
  const port = lowest + worker * ofEachWorker + next
  return (await isFree(port)) ? port : freePort()
}

/** An origin that refuses connections. A port that was closed a moment ago may be that of another test's server by now. */
export async function refusingOrigin(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}`
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
