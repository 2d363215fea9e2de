import { AgentAuthError, createAuthConfig } from '../../src/index.ts'
import { type CurrentRecord, drawMarginMs } from '../../src/session/current.ts'
import { decide } from '../../src/session/decide.ts'
import { type RetryDelay, retryDelay } from '../../src/session/retry-delay.ts'

/** Sessions in use, whose token endpoint fails for a while, or whose processes all restart. All times are virtual. */
export interface SimulationOptions {
  readonly sessions: number
  /** The life of an access token in seconds. */
  readonly lifeS: number
  /** The mean time between two calls of one session, in milliseconds. They come at random, and each session's reach one process. */
  readonly callEveryMs: number
  readonly endMs: number
  /** When the token endpoint fails. `retryAfterMs` is what it asks for, none if it cannot be reached. */
  readonly outage?: { readonly fromMs: number; readonly untilMs: number; readonly retryAfterMs?: number }
  /** When all processes forget what they had in memory. The records stay. */
  readonly restartMs?: number
}

export interface Simulated {
  /** Token requests in each second. */
  readonly perSecond: Uint32Array
  /** How many sessions wait for a refresh at the end of the outage. */
  readonly waiting: number
  /** How long after the outage the last of them may send again, in milliseconds. */
  readonly servedAfterMs: number
}

const bucketMs = 1_000

/**
 * Simulates each session with the library's own decisions: when a call refreshes, how long a failure delays the next one, and how
 * large the margin of the next token is. A call that finds a fresh token, or a delay, has no effect and is left out, because the
 * times between calls have no memory.
 */
export function simulate(options: SimulationOptions): Simulated {
  const { sessions, endMs, outage, restartMs } = options
  const perSecond = new Uint32Array(Math.ceil(endMs / bucketMs))
  const state = steadyState(options)
  const calls = calendar(sessions, endMs)
  const thinkMs = (): number => -Math.log(1 - Math.random()) * options.callEveryMs
  const soonest = (at: number): number => state.staleMs(at) + thinkMs()
  for (let at = 0; at < sessions; at++) calls.add(at, soonest(at))
  let servedAfterMs = 0
  let waiting = 0
  for (let second = 0; second < perSecond.length; second++) {
    if (restartMs !== undefined && second === Math.floor(restartMs / bucketMs)) {
      calls.clear()
      state.forget()
      for (let at = 0; at < sessions; at++) calls.add(at, Math.max(restartMs, state.staleMs(at)) + thinkMs())
    }
    if (second * bucketMs === outage?.untilMs) waiting = state.waiting()
    for (const at of calls.due(second)) {
      const nowMs = calls.timeOf(at)
      const delay = state.call(at, nowMs)
      if (delay === 'use') {
        calls.add(at, soonest(at))
        continue
      }
      perSecond[second] = (perSecond[second] ?? 0) + 1
      const isDown = outage !== undefined && nowMs >= outage.fromMs && nowMs < outage.untilMs
      if (isDown) {
        state.fail(at)
        servedAfterMs = Math.max(servedAfterMs, state.delayedUntilMs(at) - outage.untilMs)
        calls.add(at, state.delayedUntilMs(at) + thinkMs())
      } else {
        state.succeed(at, nowMs)
        calls.add(at, soonest(at))
      }
    }
  }
  return { perSecond, waiting, servedAfterMs }
}

interface Sessions {
  /** When the token of a session is no longer fresh. */
  staleMs(at: number): number
  /** Makes a call. Returns whether it sends a token request. */
  call(at: number, nowMs: number): 'use' | 'refresh'
  succeed(at: number, nowMs: number): void
  fail(at: number): void
  delayedUntilMs(at: number): number
  /** Forgets the delays, and draws the margins of the tokens again, as a process does that reads their records. */
  forget(): void
  waiting(): number
}

function steadyState({ sessions, lifeS, callEveryMs, outage }: SimulationOptions): Sessions {
  let clockMs = 0
  const config = createAuthConfig({
    authUrl: 'https://auth.example.com',
    baseUrl: 'https://api.example.com',
    clientId: 'app',
    redirectUri: 'https://app.example.com/callback',
    clock: { wallMs: () => clockMs, monotonicMs: () => clockMs },
  })
  const lifeMs = lifeS * 1_000
  const margins = Float64Array.from({ length: sessions }, () => drawMarginMs(lifeMs))
  const born = margins.map((marginMs) => -Math.random() * (lifeMs - marginMs + callEveryMs))
  const delays = new Map<number, RetryDelay>()
  const retryAfterMs = outage?.retryAfterMs
  const failure = new AgentAuthError('temporarily_unavailable', 'The token endpoint is down.', {
    retryable: true,
    details: retryAfterMs === undefined ? { outcome: 'not_sent' } : { outcome: 'busy', retryAfterMs },
  })
  const tokens = { accessToken: 'a', refreshToken: 'r', obtainedAtMs: 0 } as CurrentRecord['tokens']
  const record = (at: number): CurrentRecord => ({
    id: '',
    rev: 1,
    tokens,
    bornMs: born[at] as number,
    lifeMs,
    marginMs: margins[at] as number,
  })
  return {
    staleMs: (at) => (born[at] as number) + lifeMs - (margins[at] as number),
    call(at, nowMs) {
      clockMs = nowMs
      const wanted = { rejected: 'none', minValidMs: 0, forceRefresh: false } as const
      const decision = decide(record(at), { monotonicMs: nowMs, wallMs: nowMs }, wanted)
      if (decision === 'use') return 'use'
      if (decision !== 'refresh_proactively' && decision !== 'refresh_required') throw new Error(decision)
      return 'refresh'
    },
    succeed(at, nowMs) {
      delays.delete(at)
      born[at] = nowMs
      margins[at] = drawMarginMs(lifeMs)
    },
    fail(at) {
      const delay = delays.get(at) ?? retryDelay(config)
      delays.set(at, delay)
      delay.recordFailure(failure)
    },
    waiting: () => delays.size,
    delayedUntilMs: (at) => delays.get(at)?.untilMs ?? 0,
    forget() {
      delays.clear()
      for (let at = 0; at < sessions; at++) margins[at] = drawMarginMs(lifeMs)
    },
  }
}

/** The next call of each session, by seconds. */
function calendar(sessions: number, endMs: number) {
  const times = new Float64Array(sessions)
  const empty = (): number[][] => Array.from({ length: Math.ceil(endMs / bucketMs) }, () => [])
  let buckets = empty()
  return {
    timeOf: (at: number): number => times[at] as number,
    add(at: number, timeMs: number): void {
      times[at] = Math.max(timeMs, 0)
      buckets[Math.floor(Math.max(timeMs, 0) / bucketMs)]?.push(at)
    },
    /** The sessions of a second. One that is added to it meanwhile comes as well. */
    due: (second: number): readonly number[] => buckets[second] ?? [],
    clear(): void {
      buckets = empty()
    },
  }
}
