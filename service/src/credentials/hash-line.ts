/**
 * Who a slow hash is for. `own` is a hash that the service stores; it always gets its turn. `device` is an attempt from a
 * browser that signed in to this account before; it goes before a `stranger`'s, unless another one runs already (A-70).
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

interface Turn {
  readonly lane: HashPlace['lane']
  /** Of two attempts in one lane with one account, one runs at a time. */
  readonly account: string | undefined
  begin(): void
  drop(): void
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
  const lanes: Record<HashPlace['lane'], Turn[]> = { own: [], device: [], stranger: [] }
  const running = new Set<Turn>()
  let isDropped = false

  function fill(): void {
    while (running.size < mostHashesAtOnce) {
      const next = takeNext()
      if (next === undefined) return
      running.add(next)
      next.begin()
    }
  }
  /** While a browser's attempt runs, strangers come first: browsers of two accounts would otherwise take every turn. */
  function takeNext(): Turn | undefined {
    const isDeviceRunning = [...running].some(({ lane }) => lane === 'device')
    const attempts = isDeviceRunning ? [lanes.stranger, lanes.device] : [lanes.device, lanes.stranger]
    for (const lane of [lanes.own, ...attempts]) {
      const index = lane.findIndex((turn) => ![...running].some((other) => isSameAccount(turn, other)))
      if (index >= 0) return lane.splice(index, 1)[0]
    }
    return undefined
  }
  function takeTurn(lane: HashPlace['lane'], account: string | undefined): Promise<Turn | 'busy'> {
    return new Promise((resolve) => {
      const turn: Turn = { lane, account, begin: () => resolve(turn), drop: () => resolve('busy') }
      lanes[lane].push(turn)
      fill()
    })
  }
  return {
    async run(place, work) {
      const account = place.lane === 'own' ? undefined : place.account
      if (account !== undefined && (isDropped || isFull(lanes[place.lane], account))) return 'busy'
      const turn = await takeTurn(place.lane, account)
      if (turn === 'busy') return 'busy'
      try {
        return await work()
      } finally {
        running.delete(turn)
        fill()
      }
    },
    drop() {
      isDropped = true
      for (const turn of [...lanes.device.splice(0), ...lanes.stranger.splice(0)]) turn.drop()
    },
  }
}

function isSameAccount(one: Turn, other: Turn): boolean {
  return one.account !== undefined && one.account === other.account && one.lane === other.lane
}

function isFull(lane: Turn[], account: string): boolean {
  const sameAccount = lane.filter((turn) => turn.account === account)
  return lane.length >= mostHashesWaiting || sameAccount.length >= mostHashesWaitingPerAccount
}
