import { AgentAuthError, createAuthConfig } from '../../src/index.ts'
import type { CurrentRecord } from '../../src/session/current.ts'
import { decide } from '../../src/session/decide-call.ts'
import { drawMarginMs } from '../../src/session/freshness.ts'
import { type RetryDelay, retryDelay } from '../../src/session/retry-delay.ts'

/** Sessions in use, whose token endpoint fails for a while, or whose processes all restart. All times are virtual. */
export interface SimulationOptions {
  readonly sessions: number
  /** The life of an access token in seconds. */
  readonly lifeS: number
  /** The mean time between two calls of one session, in milliseconds. They come at random. */
  readonly callEveryMs: number
  /** How many processes the calls of one session reach, each of them by chance. */
  readonly processesPerSession: number
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

const secondMs = 1_000

/**
 * Simulates each session with the library's own decisions: when a call refreshes, how long a failure delays the next one, and how
 * large the margin of the next token is. No session depends on another, so they run one after the other, and a million of them
 * need the memory of one.
 */
export function simulate(options: SimulationOptions): Simulated {
  const { sessions, endMs, outage } = options
  const perSecond = new Uint32Array(Math.ceil(endMs / secondMs))
  const session = steadySession(options)
  const untilMs = outage?.untilMs ?? Number.POSITIVE_INFINITY
  let servedAfterMs = 0
  let waiting = 0
  for (let index = 0; index < sessions; index++) {
    session.begin()
    let isOver = false
    for (let nowMs = session.nextCallMs(); nowMs < endMs; nowMs = session.nextCallMs()) {
      if (nowMs >= untilMs && !isOver) {
        isOver = true
        if (session.isWaiting()) waiting += 1
      }
      if (session.call(nowMs) === 'use') continue
      const second = Math.floor(nowMs / secondMs)
      perSecond[second] = (perSecond[second] as number) + 1
      if (outage && nowMs >= outage.fromMs && nowMs < untilMs)
        servedAfterMs = Math.max(servedAfterMs, session.fail() - untilMs)
      else session.succeed(nowMs)
    }
  }
  return { perSecond, waiting, servedAfterMs }
}

interface SimulatedSession {
  /** Begins the next session, whose token is of any age. */
  begin(): void
  /** When the next call comes that may send a token request. */
  nextCallMs(): number
  /** Makes this call. Returns whether it sends a token request, which `succeed` or `fail` ends. */
  call(nowMs: number): 'use' | 'refresh'
  succeed(nowMs: number): void
  /** Returns when the process of this call may send again. */
  fail(): number
  /** Whether the last token request failed. */
  isWaiting(): boolean
}

function steadySession(options: SimulationOptions): SimulatedSession {
  const { lifeS, callEveryMs, processesPerSession, restartMs = Number.POSITIVE_INFINITY } = options
  const lifeMs = lifeS * secondMs
  const process = processes(options)
  const record = { id: '', rev: 1, lifeMs } as { -readonly [K in keyof CurrentRecord]: CurrentRecord[K] }
  record.tokens = { accessToken: 'a', refreshToken: 'r', obtainedAtMs: 0 } as CurrentRecord['tokens']
  const wanted = { minValidMs: 0, forceRefresh: false } as const
  const thinkMs = (): number => -Math.log(1 - Math.random()) * callEveryMs
  const staleMs = (): number => record.bornMs + lifeMs - record.marginMs
  let lastMs = 0
  const clock = { monotonicMs: () => lastMs, wallMs: () => lastMs }
  let isWaiting = false
  let isRestarted = false
  const take = (bornMs: number): void => {
    record.bornMs = bornMs
    record.marginMs = drawMarginMs(lifeMs)
    isWaiting = false
  }
  return {
    begin() {
      take(0)
      record.bornMs = -Math.random() * (lifeMs - record.marginMs + callEveryMs)
      process.forget()
      lastMs = 0
      isRestarted = false
    },
    // A call that finds a fresh token, or a delay in its only process, has no effect. It is left out, because the times between
    // calls have no memory.
    nextCallMs() {
      const idleUntilMs = processesPerSession === 1 ? process.delayedUntilMs() : 0
      const nextMs = Math.max(lastMs, staleMs(), idleUntilMs) + thinkMs()
      if (isRestarted || nextMs < restartMs) return nextMs
      isRestarted = true
      process.forget()
      record.marginMs = drawMarginMs(lifeMs)
      return Math.max(restartMs, staleMs()) + thinkMs()
    },
    call(nowMs) {
      lastMs = nowMs
      process.choose(nowMs)
      if (process.delayedUntilMs() > nowMs) return 'use'
      const decision = decide(record, clock, wanted)
      if (decision === 'refresh_proactively' || decision === 'refresh_required') return 'refresh'
      if (decision === 'use') return 'use'
      throw new Error(decision)
    },
    succeed(nowMs) {
      process.succeed()
      take(nowMs)
    },
    fail() {
      isWaiting = true
      return process.fail()
    },
    isWaiting: () => isWaiting,
  }
}

/** What the processes of a session remember of its failed refreshes. Each has a retry delay of its own. */
function processes({ outage, processesPerSession }: SimulationOptions) {
  let clockMs = 0
  const clock = { wallMs: () => clockMs, monotonicMs: () => clockMs }
  const options = {
    authUrl: 'https://auth.example.com',
    baseUrl: 'https://api.example.com',
    clientId: 'app',
    redirectUri: 'https://app.example.com/callback',
    clock,
  }
  // Events are left out, because each leaves a promise, and a simulation ends before promises settle.
  const config = { ...createAuthConfig(options), emit: () => {} }
  const retryAfterMs = outage?.retryAfterMs
  const failure = new AgentAuthError('temporarily_unavailable', 'The token endpoint is down.', {
    retryable: true,
    details: retryAfterMs === undefined ? { outcome: 'not_sent' } : { outcome: 'busy', retryAfterMs },
  })
  const known = new Map<number, RetryDelay>()
  /** Those of earlier sessions, because it takes most of the time to make one. */
  const spare: RetryDelay[] = []
  let chosen = retryDelay(config)
  const take = (name: number): RetryDelay => {
    const delay = spare.pop() ?? retryDelay(config)
    known.set(name, delay)
    return delay
  }
  return {
    /** Chooses the process that the call reaches. */
    choose(nowMs: number): void {
      clockMs = nowMs
      if (processesPerSession === 1) return
      const name = Math.floor(Math.random() * processesPerSession)
      chosen = known.get(name) ?? take(name)
    },
    delayedUntilMs: (): number => (chosen.failure ? chosen.untilMs : 0),
    fail(): number {
      chosen.recordFailure(failure)
      return chosen.untilMs
    },
    succeed: (): void => chosen.reset(),
    forget(): void {
      for (const delay of known.values()) {
        delay.reset()
        spare.push(delay)
      }
      known.clear()
      chosen.reset()
    },
  }
}
