import { createThrottle, type ServiceClock, type Throttle, type ThrottlePolicy } from '../state.ts'

/**
 * A failed attempt counts in each throttle that applies to it. Failures are kept in the memory of each process, so that a restart
 * forgets them.
 */
export interface Throttles {
  /** One browser that signed in to one account before. */
  readonly device: Throttle
  /** Each attempt of another browser at one account, from one address. */
  readonly accountAddress: Throttle
  /** The same from all addresses together. */
  readonly account: Throttle
  /** Each attempt of another browser from one address, at all accounts together. */
  readonly signInAddress: Throttle
  /** Wrong secrets of one client, from one address. */
  readonly client: Throttle
  /** Wrong secrets of all clients together, from one address. */
  readonly clientAddress: Throttle
}

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

const delays = { firstDelayMs: secondMs, longestDelayMs: 15 * minuteMs }

const oneAccount = { ...delays, rememberMs: dayMs, afterSuccess: 'forget' } as const

/** Attempts of one browser or address at one account. After 100 failures in a row it has one attempt a day. */
const oneOrigin: ThrottlePolicy = { ...oneAccount, freeFailures: 5, stop: { failures: 100, delayMs: dayMs } }

export const throttlePolicies: Record<keyof Throttles, ThrottlePolicy> = {
  device: oneOrigin,
  accountAddress: oneOrigin,
  // One address has to stop after this number of failures, so a single address cannot slow down the others.
  account: { ...oneAccount, freeFailures: 100, firstDelayMs: minuteMs },
  signInAddress: { ...delays, freeFailures: 100, rememberMs: hourMs, afterSuccess: 'keep' },
  client: { ...delays, freeFailures: 10, rememberMs: hourMs, afterSuccess: 'forget' },
  clientAddress: { ...delays, freeFailures: 100, rememberMs: hourMs, afterSuccess: 'keep' },
}

export function createThrottles(clock: ServiceClock): Throttles {
  const { device, accountAddress, account, signInAddress, client, clientAddress } = throttlePolicies
  return {
    device: createThrottle(clock, device),
    accountAddress: createThrottle(clock, accountAddress),
    account: createThrottle(clock, account),
    signInAddress: createThrottle(clock, signInAddress),
    client: createThrottle(clock, client),
    clientAddress: createThrottle(clock, clientAddress),
  }
}
