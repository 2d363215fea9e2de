/**
 * Who a slow hash is for. `own` is a hash that the service stores; it always gets its turn. `device` is an attempt from a
 * browser that signed in to this account before; it goes before a `stranger`'s (A-70).
 */
export type HashPlace = { lane: 'own' } | AttemptPlace

export interface AttemptPlace {
  lane: 'device' | 'stranger'
  account: string
}

export interface HashLine {
  /** Runs `work` in its turn; `busy` at once if its place is full, or when the line is dropped. */
  run<Value>(place: HashPlace, work: () => Promise<Value>): Promise<Value | 'busy'>
  /** Answers `busy` to every attempt that waits, so that they hold up no end of the process. */
  drop(): void
}

interface Waiting {
  /** Of two with one key, one runs at a time. */
  key: string | undefined
  take(turn: 'go' | 'busy'): void
}

/** As many as leave half of the four threads of Node's pool to others. */
export const mostHashesAtOnce = 2
/** About six seconds of hashing. Longer is not worth a wait, and every wait holds a connection. */
export const mostHashesWaiting = 32
export const hashRetryMs = 5_000

/** Of one account in its lane: with the one that runs, as many as the throttles let one origin try at once. */
export const mostHashesWaitingPerAccount = 4

/**
 * A hash takes a third of a second of a processor, so only a few run at once and only a short line waits for them.
 * An account takes a part of it alone: otherwise one user's right password, sent again and again, would keep out all others.
 */
export function createHashLine(): HashLine {
  const lanes: Record<HashPlace['lane'], Waiting[]> = { own: [], device: [], stranger: [] }
  const runningKeys = new Set<string | undefined>()
  let running = 0
  let isDropped = false

  async function takeTurn(lane: HashPlace['lane'], key: string | undefined): Promise<'go' | 'busy'> {
    if (key !== undefined && (isDropped || isFull(lanes[lane], key))) return 'busy'
    const turn = new Promise<'go' | 'busy'>((take) => lanes[lane].push({ key, take }))
    fill()
    return turn
  }
  function fill(): void {
    while (running < mostHashesAtOnce) {
      const next = takeNext(lanes.own) ?? takeNext(lanes.device) ?? takeNext(lanes.stranger)
      if (next === undefined) return
      running += 1
      if (next.key !== undefined) runningKeys.add(next.key)
      next.take('go')
    }
  }
  function takeNext(lane: Waiting[]): Waiting | undefined {
    const index = lane.findIndex(({ key }) => !runningKeys.has(key))
    return index < 0 ? undefined : lane.splice(index, 1)[0]
  }
  return {
    async run(place, work) {
      const key = place.lane === 'own' ? undefined : `${place.lane} ${place.account}`
      if ((await takeTurn(place.lane, key)) === 'busy') return 'busy'
      try {
        return await work()
      } finally {
        running -= 1
        runningKeys.delete(key)
        fill()
      }
    },
    drop() {
      isDropped = true
      for (const { take } of [...lanes.device.splice(0), ...lanes.stranger.splice(0)]) take('busy')
    },
  }
}

function isFull(lane: Waiting[], key: string): boolean {
  const sameKey = lane.filter((waiting) => waiting.key === key)
  return lane.length >= mostHashesWaiting || sameKey.length >= mostHashesWaitingPerAccount
}
