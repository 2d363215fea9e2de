import { credentialLimits } from '../limits.ts'

/**
 * The lane of a slow hash. `own` is a hash that the service stores; it is never refused. `device` is an attempt of a browser
 * that signed in to the account before; it goes before one of a `stranger`, unless another `device` attempt runs.
 */
export type HashPlace = { lane: 'own' } | AttemptPlace

export interface AttemptPlace {
  lane: 'device' | 'stranger'
  account: string
}

export interface HashLine {
  /** Runs `work` in its turn. Returns `busy` at once if the lane is full, and after `refuseWaiting`. */
  run<Value>(place: HashPlace, work: () => Promise<Value>): Promise<Value | 'busy'>
  /** Returns `busy` to every attempt that waits, so that the process can end. */
  refuseWaiting(): void
  /** How many hashes run, and how many wait. */
  load(): { running: number; waiting: number }
}

interface Turn {
  readonly lane: HashPlace['lane']
  /** Of two attempts in one lane with one account, one runs at a time. */
  readonly account: string | undefined
  begin(): void
  refuse(): void
}

/**
 * Runs slow hashes, a few at a time (`hashesAtOnce`, 2), because each takes a third of a second of a processor. In each lane
 * `hashesWaiting`, 32 attempts may wait. An account has only a part of the line (`hashesWaitingPerAccount`, 4): otherwise one
 * user's password, sent again and again, would keep all other users out.
 */
export function createHashLine(): HashLine {
  const lanes: Record<HashPlace['lane'], Turn[]> = { own: [], device: [], stranger: [] }
  const running = new Set<Turn>()
  let isRefusing = false

  function fill(): void {
    while (running.size < credentialLimits.hashesAtOnce) {
      const next = takeNext()
      if (next === undefined) return
      running.add(next)
      next.begin()
    }
  }
  /** While a `device` attempt runs, strangers come first. Otherwise browsers of two accounts could take every turn. */
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
      const turn: Turn = { lane, account, begin: () => resolve(turn), refuse: () => resolve('busy') }
      lanes[lane].push(turn)
      fill()
    })
  }
  return {
    async run(place, work) {
      const account = place.lane === 'own' ? undefined : place.account
      if (account !== undefined && (isRefusing || isFull(lanes[place.lane], account))) return 'busy'
      const turn = await takeTurn(place.lane, account)
      if (turn === 'busy') return 'busy'
      try {
        return await work()
      } finally {
        running.delete(turn)
        fill()
      }
    },
    refuseWaiting() {
      isRefusing = true
      for (const turn of [...lanes.device.splice(0), ...lanes.stranger.splice(0)]) turn.refuse()
    },
    load: () => ({ running: running.size, waiting: Object.values(lanes).flat().length }),
  }
}

function isSameAccount(one: Turn, other: Turn): boolean {
  return one.account !== undefined && one.account === other.account && one.lane === other.lane
}

function isFull(lane: Turn[], account: string): boolean {
  const sameAccount = lane.filter((turn) => turn.account === account)
  return lane.length >= credentialLimits.hashesWaiting || sameAccount.length >= credentialLimits.hashesWaitingPerAccount
}
