/**
 * Who a slow hash is for. `own` is a hash that the service stores; it always gets its turn. `device` is an attempt from a
 * browser that signed in to this account before; it goes before a `stranger`'s (A-70).
 */
export type HashLane = 'own' | 'device' | 'stranger'

export interface HashLine {
  /** Runs `work` in its turn; `busy` at once if its lane is full, or when the line is dropped. */
  run<Value>(lane: HashLane, work: () => Promise<Value>): Promise<Value | 'busy'>
  /** Answers `busy` to every attempt that waits, so that they hold up no end of the process. */
  drop(): void
}

/** As many as leave half of the four threads of Node's pool to others. */
export const mostHashesAtOnce = 2
/** About six seconds of hashing. Longer is not worth a wait, and every wait holds a connection. */
export const mostHashesWaiting = 32
export const hashRetryMs = 5_000

/** A hash takes a third of a second of a processor, so only a few run at once and only a short line waits for them. */
export function createHashLine(): HashLine {
  const lanes: Record<HashLane, ((turn: 'go' | 'busy') => void)[]> = { own: [], device: [], stranger: [] }
  let running = 0
  let isDropped = false

  async function takeTurn(lane: HashLane): Promise<'go' | 'busy'> {
    if (running < mostHashesAtOnce) {
      running += 1
      return 'go'
    }
    const isFull = lanes[lane].length >= mostHashesWaiting
    if (lane !== 'own' && (isFull || isDropped)) return 'busy'
    return new Promise((resolve) => lanes[lane].push(resolve))
  }
  function passOn(): void {
    const next = lanes.own.shift() ?? lanes.device.shift() ?? lanes.stranger.shift()
    if (next === undefined) running -= 1
    else next('go')
  }
  return {
    async run(lane, work) {
      if ((await takeTurn(lane)) === 'busy') return 'busy'
      try {
        return await work()
      } finally {
        passOn()
      }
    },
    drop() {
      isDropped = true
      for (const waiting of [...lanes.device.splice(0), ...lanes.stranger.splice(0)]) waiting('busy')
    },
  }
}
