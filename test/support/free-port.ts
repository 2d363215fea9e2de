import { createServer, type Server } from 'node:net'

/** Below the ports that a system gives out by itself: no outgoing connection and no `listen(0)` takes one meanwhile. */
const lowest = 10_000
/** A node of a Redis Cluster also listens 10,000 above its port, so all of them lie below 20,000. */
const highest = 19_999
/** The first port of a range is held by the process that gives the others. */
const ofEachProcess = 100
/** A bad port of the Fetch standard, which refuses to send requests there. */
const refusedByFetch = 10_080

let range: Promise<number> | undefined
let turn = Math.floor(Math.random() * ofEachProcess)

/**
 * Finds a port for a server that cannot choose its own. Nothing listens on it, and no other process is given it, because each has a
 * range of its own. A process gives a port again only after all others of its range.
 */
export async function freePort(): Promise<number> {
  range ??= takeRange()
  const first = await range
  turn = (turn + 1) % (ofEachProcess - 1)
  const port = first + 1 + turn
  return port !== refusedByFetch && (await isFree(port)) ? port : freePort()
}

/** Returns the first port of a range that no other process has, and listens on it until this process ends. */
async function takeRange(): Promise<number> {
  for (let first = lowest; first + ofEachProcess <= highest + 1; first += ofEachProcess) {
    const server = await serverOn(first)
    if (server === undefined) continue
    server.unref()
    return first
  }
  throw new Error(`Other processes have all ports from ${lowest} to ${highest}.`)
}

/** An origin that refuses connections. A port that was closed a moment ago may be that of another test's server by now. */
export async function refusingOrigin(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}`
}

async function isFree(port: number): Promise<boolean> {
  const server = await serverOn(port)
  if (server === undefined) return false
  await new Promise((resolve) => server.close(resolve))
  return true
}

/** A server that listens on this port, or undefined if another one does. */
function serverOn(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}
