import { type SimulationOptions, simulate } from './simulation.ts'

const minuteMs = 60_000
const restMs = 10 * minuteMs

/** The outage lasts from the tenth minute to the twentieth, and a restart is in the tenth. */
const outage = { fromMs: restMs, untilMs: 2 * restMs }

export interface Scenario {
  readonly title: string
  readonly options: Omit<SimulationOptions, 'sessions'>
}

export interface Outcome {
  readonly title: string
  /** Requests a second before anything happens. */
  readonly steadyPerS: number
  /** The highest rate of five seconds from the end of the outage or the restart on, as a multiple of the steady one. */
  readonly peak: number
  /** The same while the token endpoint fails. */
  readonly peakInOutage: number
  /** The same from five minutes after the end on, when tokens expire that were granted together. */
  readonly laterPeak: number
  /** The lowest peak with which all waiting sessions can be served within two minutes. */
  readonly lowestPeak: number
  /** The same for `servedAfterS` in place of two minutes. */
  readonly lowestForWait: number
  readonly servedAfterS: number
  /** Requests a second, as means of ten seconds. */
  readonly perSecond: readonly number[]
}

const callEveryMs = 10_000
/** As with a load balancer that sends each user to one process. */
const sticky = { callEveryMs, processesPerSession: 1 }
/** As with one that sends each call to any of a thousand processes. */
const spread = { callEveryMs, processesPerSession: 1_000 }
const lives = [
  { life: '10-minute tokens', lifeS: 600, endMs: 40 * minuteMs },
  { life: '1-hour tokens', lifeS: 3_600, endMs: 100 * minuteMs },
]

export const scenarios: readonly Scenario[] = lives.flatMap(({ life, ...size }) => [
  { title: `outage, ${life}`, options: { ...size, ...sticky, outage } },
  {
    title: `outage with Retry-After: 120, ${life}`,
    options: { ...size, ...sticky, outage: { ...outage, retryAfterMs: 120_000 } },
  },
  {
    title: `outage with Retry-After: 300, ${life}`,
    options: { ...size, ...sticky, outage: { ...outage, retryAfterMs: 300_000 } },
  },
  { title: `outage, calls spread over 1,000 processes, ${life}`, options: { ...size, ...spread, outage } },
  { title: `restart, ${life}`, options: { ...size, ...sticky, endMs: 30 * minuteMs, restartMs: restMs } },
])

/** Simulates a scenario with so many sessions. */
export function outcomeOf({ title, options }: Scenario, sessions: number): Outcome {
  const { perSecond, waiting, servedAfterMs } = simulate({ ...options, sessions })
  const endS = (options.outage?.untilMs ?? options.restartMs ?? 0) / 1_000
  const rates = (fromS: number, untilS: number, windowS: number) => means(perSecond.subarray(fromS, untilS), windowS)
  const steadyPerS = rates(60, restMs / 1_000, 540)[0] as number
  const peak = (fromS: number, untilS = perSecond.length): number =>
    rounded(Math.max(...rates(fromS, untilS, 5), 0) / steadyPerS)
  return {
    title,
    steadyPerS: Math.round(steadyPerS),
    peak: peak(endS),
    peakInOutage: options.outage ? peak(restMs / 1_000, endS) : 0,
    laterPeak: peak(endS + 300),
    lowestPeak: rounded(waiting / 120 / steadyPerS),
    // A session is served at its first call after its delay, so the time between calls counts where it is longer.
    lowestForWait: rounded(waiting / (Math.max(servedAfterMs, options.callEveryMs) / 1_000) / steadyPerS),
    servedAfterS: Math.round(servedAfterMs / 1_000),
    perSecond: rates(0, perSecond.length, 10).map(Math.round),
  }
}

/** The means of windows that follow each other. */
export function means(values: Uint32Array, windowS: number): number[] {
  return Array.from({ length: Math.floor(values.length / windowS) }, (_, index) => {
    const window = values.subarray(index * windowS, (index + 1) * windowS)
    return window.reduce((sum, value) => sum + value, 0) / windowS
  })
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10
}
