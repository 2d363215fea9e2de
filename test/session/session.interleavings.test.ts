import type { Session } from 'agent-auth'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runs } from '../support/runs.ts'
import { codeOf, type Realm, sessionRig } from '../support/session-rig.ts'
import { type SharedRecords, sharedRecords } from '../support/shared-records.ts'
import { type Answer, type Entry, type TokenService, word } from '../support/token-service.ts'
import { flush, type VirtualTime, virtualTime } from '../support/virtual-time.ts'

/** What people, apps and time do; each is begun, and then some of the steps under way are let through before the next. */
type Command =
  | { readonly do: 'call' | 'force' | 'reject' | 'abort' | 'sign out' | 'sign in'; readonly realm: number }
  | { readonly do: 'revoke' }
  | { readonly do: 'time'; readonly ms: number }

interface Plan {
  readonly commands: readonly { readonly command: Command; readonly steps: number }[]
  readonly answers: readonly Answer[]
  readonly realms: number
}

const hour = 3_600_000
/** A wait for the lock, one shared round of attempts, and the last of them: no call may take longer. */
const settleMs = 20_000 + 10_000 + 10_000 + 1_000

const unhandled: unknown[] = []
const note = (reason: unknown): void => void unhandled.push(reason)
beforeEach(() => {
  unhandled.length = 0
  process.on('unhandledRejection', note)
})
afterEach(() => void process.off('unhandledRejection', note))

function plans({ answers, revoke }: { answers: readonly Answer[]; revoke: boolean }): fc.Arbitrary<Plan> {
  const realm = fc.nat(2)
  const command = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constantFrom('call' as const, 'call' as const, 'force' as const, 'reject' as const),
        realm,
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('abort' as const, 'sign out' as const), realm }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('sign in' as const), realm }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('time' as const),
        ms: fc.constantFrom(500, 1_500, 31_000, hour - 45_000, hour),
      }),
    },
    { weight: revoke ? 1 : 0, arbitrary: fc.record({ do: fc.constant('revoke' as const) }) },
  )
  return fc.record({
    realms: fc.integer({ min: 1, max: 3 }),
    answers: fc.array(fc.constantFrom(...answers), { maxLength: 8 }),
    commands: fc.array(fc.record({ command, steps: fc.nat(9) }), { minLength: 3, maxLength: 24 }),
  })
}

interface Call {
  readonly realm: number
  readonly startedMs: number
  settledMs?: number
  outcome?: unknown
}

/** One run: realms over one shared record, a scheduler that decides the order, and a journal that is judged afterwards. */
class Run {
  readonly service: TokenService
  readonly records: SharedRecords = sharedRecords()
  readonly realms: Realm[] = []
  readonly calls: Call[] = []
  readonly #time: VirtualTime
  readonly #scheduler: fc.Scheduler
  readonly #stops = new Map<number, AbortController[]>()
  /** For each realm: the last access token it got. */
  readonly #tokens = new Map<number, string>()
  /** Families whose sign-in was begun here, by realm, and those whose sign-in was done. */
  readonly #begun = new Map<number, Set<number>>()
  readonly #done = new Set<number>()
  /** Families that a finished sign-out ended, with the moment. */
  readonly #over = new Map<number, number>()
  /** The same, by the realm of the sign-out: there it holds at once. */
  readonly #overIn = new Map<number, Set<number>>()
  /** How often somebody signed in or out, by realm. */
  readonly #wishes = new Map<number, number>()
  readonly #wrong: string[] = []
  readonly #revoked = new Set<number>()

  constructor(time: VirtualTime, scheduler: fc.Scheduler, plan: Plan) {
    this.#time = time
    this.#scheduler = scheduler
    const step = (what: string): Promise<void> => scheduler.schedule(Promise.resolve(), what)
    const { service, realm } = sessionRig(time.clock, { reuse: 'grace', token: word, travel: step })
    this.service = service
    for (let index = 0; index < plan.realms; index++)
      this.realms.push(realm({ storage: this.records.handle({ step }) }))
    this.records.onChange(() => this.#stored())
    service.answer(...plan.answers)
  }

  async play({ commands }: Plan): Promise<void> {
    for (const { command, steps } of commands) {
      if (command.do === 'time') await this.#pass(command.ms)
      else this.#begin(command)
      await flush()
      for (let step = 0; step < steps && this.#scheduler.count() > 0; step++) await this.#step()
    }
    await this.#settle()
  }

  async #step(): Promise<void> {
    await this.#scheduler.waitOne()
    await flush()
  }

  /** Time passes only while nothing is on its way through the storage: a storage that stalls has its own tests. */
  async #pass(ms: number): Promise<void> {
    await this.#drain()
    for (let leftMs = ms; leftMs > 0; ) {
      const stepMs = vi.getTimerCount() === 0 ? leftMs : Math.min(500, leftMs)
      await this.#time.tick(stepMs)
      await this.#drain()
      leftMs -= stepMs
    }
  }

  async #drain(): Promise<void> {
    await flush()
    while (this.#scheduler.count() > 0) await this.#step()
  }

  /** Lets everything end, from timer to timer. */
  async #settle(): Promise<void> {
    for (let turn = 0; turn < 200; turn++) {
      await this.#drain()
      if (vi.getTimerCount() === 0) return
      vi.advanceTimersToNextTimer()
    }
    throw new Error('Timers follow timers without end.')
  }

  #session(index: number): { session: Session; index: number } {
    const at = index % this.realms.length
    return { session: (this.realms[at] as Realm).session, index: at }
  }

  #begin(command: Exclude<Command, { do: 'time' }>): void {
    if (command.do === 'revoke') {
      const family = this.service.familyOf(String(this.records.record()?.refreshToken))
      if (family) this.#revoked.add(family)
      this.service.revoke(family)
      return
    }
    const { session, index } = this.#session(command.realm)
    const rejected = this.#tokens.get(index)
    if (command.do.startsWith('sign')) this.#wishes.set(index, this.#wish(index) + 1)
    if (command.do === 'call') this.#call(index, session, {})
    if (command.do === 'force') this.#call(index, session, { forceRefresh: true })
    if (command.do === 'reject' && rejected) this.#call(index, session, { rejected })
    if (command.do === 'abort') for (const stop of this.#stops.get(index) ?? []) stop.abort()
    if (command.do === 'sign in') this.#signIn(index, session)
    if (command.do === 'sign out') this.#signOut(index, session)
  }

  #wish(index: number): number {
    return this.#wishes.get(index) ?? 0
  }

  #call(index: number, session: Session, options: { forceRefresh?: boolean; rejected?: string }): void {
    const stop = new AbortController()
    this.#stops.set(index, [...(this.#stops.get(index) ?? []), stop])
    const call: Call = { realm: index, startedMs: this.#time.nowMs() }
    this.calls.push(call)
    const forbidden = [...this.#over].filter(([, atMs]) => call.startedMs - atMs >= 1_000).map(([family]) => family)
    const overHere = new Set(this.#overIn.get(index))
    codeOf(session.getAccessToken({ ...options, signal: stop.signal })).then((outcome) => {
      call.settledMs = this.#time.nowMs()
      call.outcome = outcome
      if (typeof outcome === 'string') return
      const token = (outcome as { resolved: string }).resolved
      const family = this.service.familyOf(token)
      this.#tokens.set(index, token)
      if (family === 0) this.#wrong.push('A call resolved to something that is no token of the service.')
      if (options.rejected && this.service.familyOf(options.rejected) !== family)
        this.#wrong.push('F065: a call for one session got the token of another.')
      if (forbidden.includes(family) || overHere.has(family))
        this.#wrong.push('I-4: a call got a token of a session that was signed out before.')
    }, note)
  }

  #signIn(index: number, session: Session): void {
    const tokens = this.service.issue()
    const family = this.service.familyOf(tokens.accessToken)
    this.#begun.set(index, (this.#begun.get(index) ?? new Set()).add(family))
    const call: Call = { realm: index, startedMs: this.#time.nowMs() }
    this.calls.push(call)
    const wish = this.#wish(index)
    codeOf(session.signIn(tokens)).then((outcome) => {
      call.settledMs = this.#time.nowMs()
      call.outcome = outcome
      if (typeof outcome !== 'string') this.#done.add(family)
      else if (wish === this.#wish(index)) this.#wrong.push(`A sign-in failed, and nothing came between: ${outcome}.`)
      else if (!/^(session_changed|login_required)$/.test(outcome)) this.#wrong.push(`A sign-in failed: ${outcome}.`)
    }, note)
  }

  #signOut(index: number, session: Session): void {
    const ends = new Set([...this.#done, ...(this.#begun.get(index) ?? [])])
    const call: Call = { realm: index, startedMs: this.#time.nowMs() }
    this.calls.push(call)
    const local = this.service.familyOf(String(this.records.record()?.refreshToken))
    this.service.history.push({ event: 'signing-out', family: local })
    codeOf(session.signOut()).then((outcome) => {
      call.settledMs = this.#time.nowMs()
      call.outcome = outcome
      if (typeof outcome === 'string') this.#wrong.push(`A sign-out failed: ${outcome}.`)
      for (const family of ends) {
        if (!this.#over.has(family)) this.#over.set(family, this.#time.nowMs())
        this.#overIn.set(index, (this.#overIn.get(index) ?? new Set()).add(family))
        this.service.history.push({ event: 'signed-out', family })
      }
      this.#stored()
    }, note)
  }

  #stored(): void {
    const token = this.records.record()?.refreshToken
    const family = this.service.familyOf(token === undefined ? undefined : String(token))
    this.service.history.push(family ? { event: 'stored', family } : { event: 'removed' })
    if (this.#over.has(family)) this.#wrong.push('I-4: the record of a session that was signed out is stored.')
  }

  /** Judges the history, not the last screen. */
  judge(): void {
    expect(this.#wrong).toEqual([])
    const { history } = this.service
    this.#judgeRequests(history)
    expect(
      this.calls.filter(({ settledMs }) => settledMs === undefined),
      'I-8: a promise never settled',
    ).toEqual([])
    for (const { startedMs, settledMs = 0 } of this.calls)
      expect(settledMs - startedMs, 'I-8: a promise settled late').toBeLessThanOrEqual(settleMs)
    expect(unhandled, 'I-9: an unhandled rejection').toEqual([])
    const refused = history.filter((entry) => entry.event === 'refused').length
    const signOuts = history.filter(({ event }) => event === 'signing-out').length
    const ended = this.realms.flatMap(({ eventsOf }) => eventsOf('session_ended').map(({ reason }) => reason))
    if (refused === 0) expect(ended, 'I-5: ended without a word of the service').not.toContain('refused')
    if (refused === 0 && signOuts === 0) expect(ended, 'I-5: ended by nobody').toEqual([])
    const signIns = [...this.#begun.values()].reduce((sum, families) => sum + families.size, 0)
    for (const { eventsOf } of this.realms)
      expect(eventsOf('session_ended').length, 'F047: one sign-in ended twice').toBeLessThanOrEqual(signIns)
  }

  /** I-1 and I-2: one request per refresh token at a time; none with a token that was replaced and its answer received. */
  #judgeRequests(history: readonly Entry[]): void {
    const flying = new Map<number, string>()
    const received = new Set<string>()
    const given = new Set<number>()
    const leaving = new Set<number>()
    for (const entry of history) {
      if (entry.event === 'signing-out') leaving.add(entry.family)
      if (entry.event === 'granted') given.add(entry.call)
      if (entry.event === 'sent') {
        const family = this.service.familyOf(entry.refreshToken)
        const excused = leaving.has(family) || this.#superseded(family)
        if (!excused) {
          expect([...flying.values()], 'I-1: a refresh token was in flight twice').not.toContain(entry.refreshToken)
          expect([...received], 'I-2: a replaced refresh token was sent again').not.toContain(entry.refreshToken)
        }
        flying.set(entry.call, entry.refreshToken)
      }
      if (entry.event === 'delivered' && given.has(entry.call)) received.add(flying.get(entry.call) ?? '')
      if (entry.event === 'delivered' || entry.event === 'lost' || entry.event === 'aborted') flying.delete(entry.call)
      // Reuse that the service noticed means that an answer was received and dropped.
      if (entry.event === 'refused' && !this.#revoked.has(entry.family) && !leaving.has(entry.family))
        expect(this.#superseded(entry.family), 'I-2: the service saw reuse').toBe(true)
    }
  }

  /** A new sign-in, begun anywhere, frees the lock of the refresh it replaces. */
  #superseded(family: number): boolean {
    return [...this.#begun.values()].some((families) => [...families].some((other) => other > family))
  }

  /** I-5: who was not signed out, and whom the service did not refuse, is still signed in when all is well again. */
  async recovers(): Promise<void> {
    await this.#pass(31_000)
    // A sign-in that could not be saved, since a hanging refresh kept the lock, is saved when a token is asked for.
    for (const { session } of this.realms) {
      const work = codeOf(session.getAccessToken())
      await this.#settle()
      await work
    }
    await this.#pass(31_000)
    const stored = this.records.record()?.refreshToken
    const family = stored === undefined ? 0 : this.service.familyOf(String(stored))
    const last = Math.max(0, ...this.#done)
    const undisturbed = !this.service.history.some(({ event }) => event === 'signing-out')
    if (last && undisturbed && this.service.isAlive(last)) expect(family, 'I-5: a session is lost').toBeGreaterThan(0)
    if (!family || !this.service.isAlive(family)) return
    for (const [index, { session }] of this.realms.entries()) {
      for (let attempt = 0; ; attempt++) {
        const work = codeOf(session.getAccessToken())
        await this.#settle()
        const outcome = await work
        if (typeof outcome !== 'string') {
          expect(this.service.familyOf((outcome as { resolved: string }).resolved)).toBe(family)
          break
        }
        expect(['temporarily_unavailable', 'timeout', 'session_changed'], `realm ${index}`).toContain(outcome)
        expect(attempt, 'I-5: no recovery').toBeLessThan(10)
        await this.#pass(31_000)
      }
    }
  }
}

async function explore(numRuns: number, options: Parameters<typeof plans>[0]): Promise<void> {
  const time = virtualTime()
  // The jitter of a wait must not make a run differ from its replay. Names of sign-ins must still differ from each other.
  const random = crypto.getRandomValues.bind(crypto)
  vi.spyOn(crypto, 'getRandomValues').mockImplementation((array) =>
    array instanceof Uint32Array ? array : random(array),
  )
  try {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), plans(options), async (scheduler, plan) => {
        unhandled.length = 0
        const run = new Run(time, scheduler, plan)
        await run.play(plan)
        run.judge()
        await run.recovers()
        run.judge()
      }),
      { numRuns },
    )
  } finally {
    vi.restoreAllMocks()
  }
}

const honest = runs(100, 40_000)
test(
  'random calls, sign-ins, sign-outs and aborts in up to three tabs send no token twice, lose no session, and settle each promise in time',
  honest.options,
  async () => {
    await explore(honest.numRuns, { answers: ['ok'], revoke: false })
  },
)

const troubled = runs(100, 40_000)
test(
  'responses that are lost, late, busy or of another server lose no session of up to three tabs, and each promise settles in time',
  troubled.options,
  async () => {
    const busy = () => new Response(null, { status: 503 })
    const later = () => new Response(null, { status: 429, headers: { 'retry-after': '3' } })
    const portal = () => new Response('<html>', { headers: { 'content-type': 'text/html' } })
    await explore(troubled.numRuns, {
      answers: ['ok', 'lose', 'hang', 'unreachable', busy, later, portal],
      revoke: false,
    })
  },
)

const revoked = runs(100, 20_000)
test(
  'sessions that the service revokes end in each of up to three tabs, no other ends, and each promise settles in time',
  revoked.options,
  async () => {
    await explore(revoked.numRuns, { answers: ['ok', 'lose'], revoke: true })
  },
)
