import { backendRig } from '../../test/support/backend-rig.ts'
import { line } from '../backend/rounds.ts'
import { meteredStore, type StoreKind, type Traffic } from './metered.ts'

export interface Costs {
  readonly store: StoreKind
  readonly operation: string
  readonly traffic: Traffic
}

const rounds = 20

/** What a backend sends to its store for one sign-in, call, refresh and sign-out: commands, bytes and connections. */
export async function costs(): Promise<Costs[]> {
  return [...(await costsOn('Redis')), ...(await costsOn('PostgreSQL'))]
}

async function costsOn(kind: StoreKind): Promise<Costs[]> {
  const store = await meteredStore(kind)
  let aheadMs = 0
  const startMs = Date.now()
  // Time passes only by `pass`, so that it does not depend on the machine which calls read the record again.
  const clock = { wallMs: () => startMs + aheadMs, monotonicMs: () => 1_000 + aheadMs }
  const rig = await backendRig({ backend: { sessions: store.storage, clock } })
  const pass = (ms: number): void => {
    aheadMs += ms
    rig.service.dev.advance(ms)
  }
  const browsers = Array.from({ length: rounds }, () => rig.browser())
  const each = async (task: (browser: (typeof browsers)[number]) => Promise<unknown>): Promise<void> => {
    for (const browser of browsers) await task(browser)
  }
  const answered = async (response: Promise<Response>): Promise<void> => {
    const { status } = await response
    if (status !== 200) throw new Error(`A call was answered with ${status}.`)
  }
  const found: Costs[] = []
  const measure = async (operation: string, task: (browser: (typeof browsers)[number]) => Promise<unknown>) => {
    const traffic = perRound(await store.measure(() => each(task)))
    line(`${kind}, ${operation}:`.padEnd(58), told(traffic))
    found.push({ store: kind, operation, traffic })
  }
  try {
    await measure('sign-in', (browser) => browser.logIn())
    await measure('proxied call within a second of the last one', (browser) => answered(browser.call()))
    pass(5_000)
    await measure('proxied call', (browser) => answered(browser.call()))
    pass(5_000)
    await measure('getSession', (browser) => rig.backend.getSession(browser.request('/')))
    const other = rig.another()
    await measure('getSession, first in a process', (browser) => other.getSession(browser.request('/')))
    pass(20 * 60_000)
    await measure('proxied call with a refresh', (browser) => answered(browser.call()))
    await measure('sign-out', (browser) => browser.logOut())
    return found
  } finally {
    await rig.close()
    await store.close()
  }
}

function perRound({ connections, ...sums }: Traffic): Traffic {
  const mean = (sum: number): number => Math.round((sum / rounds) * 10) / 10
  return {
    roundTrips: mean(sums.roundTrips),
    commands: mean(sums.commands),
    sentBytes: Math.round(sums.sentBytes / rounds),
    receivedBytes: Math.round(sums.receivedBytes / rounds),
    connections,
  }
}

function told({ roundTrips, commands, sentBytes, receivedBytes, connections }: Traffic): string {
  return `${roundTrips} round trips, ${commands} commands, ${sentBytes} + ${receivedBytes} bytes, ${connections} connections`
}
