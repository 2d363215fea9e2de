import type { ServiceClock } from '../clock.ts'
import type { Throttles } from '../context.ts'
import { createThrottle } from './throttle.ts'

const secondMs = 1_000
const quarterHourMs = 15 * 60_000

export function createThrottles(clock: ServiceClock): Throttles {
  const perName = {
    freeFailures: 5,
    firstDelayMs: secondMs,
    longestDelayMs: quarterHourMs,
    mostAtOnce: 90,
    afterSuccess: 'forget',
  } as const
  const perAddress = { ...perName, freeFailures: 100, mostAtOnce: 1_000, afterSuccess: 'keep' } as const
  return {
    account: createThrottle(clock, perName),
    signInAddress: createThrottle(clock, perAddress),
    client: createThrottle(clock, { ...perName, freeFailures: 10, mostAtOnce: 1_000 }),
    clientAddress: createThrottle(clock, perAddress),
  }
}
