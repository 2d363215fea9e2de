import { AsyncLocalStorage } from 'node:async_hooks'
import type { Session, TokenStorage, Tokens } from '../../../src/index.ts'
import type { SessionCode } from './session-bundle.ts'

/** What a user or an app does in one page. `idle` begins when the calls before it have settled, `after` when that of another page has. */
export interface Action {
  readonly do: 'signIn' | 'signOut' | 'call' | 'refresh' | 'crash' | 'clear' | 'revoke'
  readonly as?: string
  readonly idle?: true
  readonly after?: readonly [page: number, action: number]
}

export interface Scenario {
  /** The user whose record is stored at the beginning. */
  readonly stored?: string
  readonly pages: readonly (readonly Action[])[]
}

interface Operation {
  readonly kind: 'read' | 'write' | 'remove' | 'lock' | 'request'
  readonly value?: string | undefined
  readonly lease?: number | undefined
  resolve(value?: unknown): void
  reject(error: unknown): void
}

interface Call {
  readonly action: Action
  readonly startedAs: string | undefined
  readonly begunAt: number
  /** The sign-ins whose sign-out had resolved when the call began. */
  readonly over: ReadonlySet<string>
  outcome?: { readonly token?: string; readonly error?: string }
}

interface Page {
  readonly index: number
  readonly script: Action[]
  next: number
  epoch: number
  session: Session
  readonly operations: Map<number, Operation>
  readonly timers: Map<number, { readonly run: () => void; readonly ms: number }>
  count: number
  nowMs: number
  shown: string | undefined
  readonly calls: Call[]
  readonly history: string[]
}

const startMs = 1_000_000_000_000
const leases = new AsyncLocalStorage<number>()
/** Lets everything run that waits for promises only. */
export const flush = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/**
 * Some pages that run the real session over one record, a lock with leases and a token service that rotates, has a grace period and
 * detects reuse. Everything that takes time waits for an event, so a list of events determines the run.
 */
export class World {
  readonly violations: string[] = []
  readonly pages: Page[]
  /** The id of the next sign-in. */
  signingIn = ''
  private stored: string | undefined
  private lock: { readonly lease: number; dead?: true } | undefined
  private leaseCount = 0
  private actions = 0
  private writes = 0
  private readonly families = new Map<string, { current: number; revoked?: true }>()
  private readonly signIns = new Map<string, { begunAt: number; resolvedAt?: number; failed?: true }>()
  private readonly over = new Set<string>()
  private readonly endings: { readonly kind: 'signOut' | 'clear' | 'revoke'; readonly as?: string | undefined }[] = []
  private readonly sent = new Set<string>()
  private running: Page | undefined
  private step = 0

  constructor(
    private readonly code: SessionCode,
    scenario: Scenario,
    private faults: number,
  ) {
    ;(globalThis as { __world?: World }).__world = this
    const { stored } = scenario
    if (stored) {
      this.families.set(stored, { current: 1 })
      this.signIns.set(stored, { begunAt: -2, resolvedAt: -1 })
      const owner = ['agent-auth', 'https://auth.example', 'app', 'default'].map(encodeURIComponent).join(':')
      this.stored = JSON.stringify({
        v: 1,
        owner,
        id: stored,
        rev: 1,
        signedInAtMs: startMs - 1,
        ...tokensOf(stored, 1),
      })
    }
    this.pages = scenario.pages.map((script, index) => this.open(index, [...script]))
  }

  /** The events that can happen now. */
  events(): string[] {
    const found: string[] = []
    for (const page of this.pages) {
      const [firstLock] = [...page.operations].find(([, { kind }]) => kind === 'lock') ?? []
      for (const [n, { kind }] of page.operations) {
        if (kind === 'lock') {
          if (!this.lock && n === firstLock) found.push(`grant ${page.index} ${n}`)
          continue
        }
        found.push(`ok ${page.index} ${n}`)
        if (this.faults === 0) continue
        found.push(`fail ${page.index} ${n}`)
        if (kind !== 'read') found.push(`lost ${page.index} ${n}`)
      }
      if (page.operations.size === 0) for (const n of page.timers.keys()) found.push(`timer ${page.index} ${n}`)
      if (this.canAct(page)) found.push(`act ${page.index} 0`)
    }
    if (this.lock?.dead) found.push('expire 0 0')
    return found
  }

  async apply(event: string): Promise<void> {
    ;(globalThis as { __world?: World }).__world = this
    this.step++
    const [verb, index, n] = event.split(' ')
    if (verb === 'expire') {
      this.lock = undefined
      return
    }
    const page = this.pages[Number(index)]
    if (!page) throw new Error(`No page for ${event}`)
    this.running = page
    page.history.push(event)
    if (verb === 'act') this.act(page)
    else if (verb === 'timer') {
      const timer = page.timers.get(Number(n))
      page.timers.delete(Number(n))
      page.nowMs += timer?.ms ?? 0
      timer?.run()
    } else this.settle(page, Number(n), verb as 'grant' | 'ok' | 'fail' | 'lost')
    await flush()
    this.look(page)
  }

  /** What determines everything that can follow. */
  key(): string {
    const pages = this.pages.map(({ history, operations, shown }) => [history, [...operations.keys()], shown])
    return JSON.stringify([pages, this.stored, [...this.families], this.lock, this.faults, [...this.over]])
  }

  /** Ends all work without a fault, and checks that the pages agree, write no more, and that a fresh start is usable. */
  async finish(): Promise<void> {
    this.faults = 0
    await this.drain()
    for (const page of this.pages)
      for (const { action, outcome } of page.calls) if (!outcome) this.violations.push(`${action.do} never settled`)
    let before = 0
    for (let round = 0; round < 4; round++) {
      before = this.writes
      for (const page of this.pages) await this.ask(page, 'call')
    }
    if (this.writes !== before) this.violations.push('pages still write in the fourth round without a fault')
    for (const page of this.pages) {
      const { token } = await this.ask(page, 'call')
      const stored =
        this.stored === undefined ? undefined : (JSON.parse(this.stored) as { accessToken: string }).accessToken
      if (token !== stored) this.violations.push(`page ${page.index} has ${token}, and ${stored} is stored`)
    }
    if (this.violations.length > 0) return
    const fresh = this.open(this.pages.length, [])
    this.pages.push(fresh)
    const { token, error } = await this.ask(fresh, 'call')
    if (!token && error !== 'login_required') this.violations.push(`a fresh start rejects with ${error}`)
    if (!token) return
    const { token: newer, error: refusal } = await this.ask(fresh, 'refresh')
    if (!newer && !this.families.get(nameOf(token))?.revoked) this.violations.push(`a fresh start ends in ${refusal}`)
  }

  setTimer(run: () => void, ms: number): { page?: Page; n?: number; unref(): void } {
    const page = this.running
    // A deadline: an operation that fails stands for it.
    if (!page || ms > 2_500) return { unref() {} }
    page.timers.set(++page.count, { run, ms })
    return { page, n: page.count, unref() {} }
  }

  clearTimer(timer: { page?: Page; n?: number } | undefined): void {
    if (timer?.n !== undefined) timer.page?.timers.delete(timer.n)
  }

  request({ refreshToken }: { refreshToken: string }, signal: AbortSignal): Promise<unknown> {
    const page = this.running as Page
    if (this.sent.has(refreshToken)) this.violations.push(`${refreshToken} is sent twice at the same time`)
    this.sent.add(refreshToken)
    return new Promise((resolve, reject) => {
      const n = this.add(page, { kind: 'request', value: refreshToken, resolve, reject })
      // It stays in `sent`, because it may still arrive.
      signal.addEventListener('abort', () => {
        if (!page.operations.delete(n)) return
        reject(new this.code.AgentAuthError('aborted', 'aborted'))
      })
    })
  }

  private open(index: number, script: Action[]): Page {
    const page = {
      index,
      script,
      next: 0,
      count: 0,
      nowMs: 0,
      epoch: 0,
      calls: [],
      history: [],
      shown: undefined,
    } as unknown as Page
    Object.assign(page, { operations: new Map(), timers: new Map() })
    this.boot(page)
    return page
  }

  private boot(page: Page): void {
    const epoch = ++page.epoch
    const clock = { wallMs: () => startMs + this.actions * 10_000, monotonicMs: () => page.nowMs }
    const config = this.code.createAuthConfig({
      authUrl: 'https://auth.example',
      baseUrl: 'https://api.example',
      clientId: 'app',
      redirectUri: 'https://app.example/cb',
      clock,
      onEvent() {},
    })
    const operation = (kind: Operation['kind'], value?: string): Promise<never> =>
      new Promise((resolve, reject) => {
        if (page.epoch !== epoch) return
        this.add(page, { kind, value, lease: leases.getStore(), resolve: resolve as Operation['resolve'], reject })
      })
    const storage: TokenStorage = {
      getItem: () => operation('read'),
      setItem: (_, value) => operation('write', value),
      removeItem: () => operation('remove'),
      withLock: async (_, task, { signal } = {}) => {
        const lease = (await new Promise((resolve, reject) => {
          if (page.epoch !== epoch) return
          const n = this.add(page, { kind: 'lock', resolve, reject })
          signal?.addEventListener('abort', () => page.operations.delete(n) && reject(signal.reason))
        })) as number
        try {
          return await leases.run(lease, task)
        } finally {
          if (this.lock?.lease === lease) this.lock = undefined
        }
      },
    }
    Object.assign(page, this.code.openSession(config, { storage }))
    page.shown = undefined
  }

  private add(page: Page, operation: Operation): number {
    page.operations.set(++page.count, operation)
    return page.count
  }

  private settle(page: Page, n: number, verb: 'grant' | 'ok' | 'fail' | 'lost'): void {
    const operation = page.operations.get(n)
    if (!operation) throw new Error(`No operation ${n}`)
    page.operations.delete(n)
    if (verb === 'grant') {
      this.lock = { lease: ++this.leaseCount }
      operation.resolve(this.leaseCount)
      return
    }
    if (verb !== 'ok') this.faults--
    const isRefused = operation.kind !== 'read' && operation.lease !== undefined && operation.lease !== this.lock?.lease
    const result = verb === 'fail' || isRefused ? undefined : this.effect(operation)
    if (operation.kind === 'request') this.sent.delete(operation.value ?? '')
    page.history.push(`${operation.kind} ${JSON.stringify(result)}`)
    if (verb === 'ok' && !isRefused && result !== 'refused') operation.resolve(result)
    else operation.reject(operation.kind === 'request' ? this.refusal(verb) : new Error('The storage failed.'))
  }

  private refusal(verb: string): Error {
    const { AgentAuthError } = this.code
    return verb === 'ok'
      ? new AgentAuthError('grant_rejected', 'refused', { details: { outcome: 'terminal' } })
      : new AgentAuthError('temporarily_unavailable', 'lost', { retryable: true, details: { outcome: 'ambiguous' } })
  }

  private effect({ kind, value = '' }: Operation): unknown {
    if (kind === 'read') return this.stored
    if (kind === 'request') return this.serve(value)
    this.writes++
    this.stored = kind === 'write' ? value : undefined
    return undefined
  }

  /** Rotates. The token before the current one has a grace period, and an older one revokes the family. */
  private serve(refreshToken: string): unknown {
    const name = nameOf(refreshToken)
    const family = this.families.get(name)
    const n = Number(refreshToken.split('.')[1])
    if (!family || family.revoked) return 'refused'
    if (n < family.current - 1) {
      family.revoked = true
      return 'refused'
    }
    if (n === family.current) family.current++
    return tokensOf(name, family.current)
  }

  private canAct(page: Page): boolean {
    const action = page.script[page.next]
    if (!action) return false
    const [other, index] = action.after ?? []
    const isAfter = other === undefined || this.pages[other]?.calls[index ?? 0]?.outcome !== undefined
    return isAfter && (!action.idle || page.calls.every(({ outcome }) => outcome))
  }

  private act(page: Page): void {
    const action = page.script[page.next++] as Action
    const { as = '' } = action
    this.actions++
    page.nowMs += 10_000
    const startedAs = page.session.state.sessionRef ?? (action.do === 'signOut' ? this.endedBySignOut(page) : undefined)
    const call: Call = { action, startedAs, begunAt: this.step, over: new Set(this.over) }
    page.calls.push(call)
    const run = (work: Promise<unknown>): void => {
      work.then(
        (token) => this.settled(page, call, typeof token === 'string' ? { token } : {}),
        (error) => this.settled(page, call, { error: (error as { code?: string }).code ?? String(error) }),
      )
    }
    if (action.do === 'signIn') {
      this.families.set(as, { current: 1 })
      this.signIns.set(as, { begunAt: this.step })
      this.signingIn = as
      run(page.session.signIn(tokensOf(as, 1)))
    } else if (action.do === 'signOut') {
      this.endings.push({ kind: 'signOut' })
      run(page.session.signOut())
    } else if (action.do === 'call') run(page.session.getAccessToken())
    else if (action.do === 'refresh') run(page.session.getAccessToken({ forceRefresh: true }))
    else {
      if (action.do === 'crash') this.crash(page)
      if (action.do === 'clear') this.stored = undefined
      if (action.do === 'revoke') Object.assign(this.families.get(as) ?? {}, { revoked: true })
      if (action.do !== 'crash') this.endings.push({ kind: action.do, as })
      call.outcome = {}
    }
  }

  /** A sign-out also ends a sign-in of its page that is in progress, and a user whom the page has not read yet. */
  private endedBySignOut(page: Page): string | undefined {
    return page.calls.findLast(({ action }) => action.do === 'signIn')?.action.as ?? this.storedId()
  }

  private crash(page: Page): void {
    for (const call of page.calls) call.outcome ??= {}
    for (const { kind, value } of page.operations.values()) if (kind === 'request') this.sent.delete(value ?? '')
    const owned = this.lock
    // The lease of a page that crashed ends by itself.
    if (owned) owned.dead = true
    page.operations.clear()
    page.timers.clear()
    this.boot(page)
  }

  private settled(page: Page, call: Call, outcome: { token?: string; error?: string }): void {
    if (call.outcome) return
    call.outcome = outcome
    const { do: what, as = '' } = call.action
    const signIn = this.signIns.get(as)
    if (what === 'signIn' && signIn) Object.assign(signIn, outcome.error ? { failed: true } : { resolvedAt: this.step })
    if (what === 'signOut' && !outcome.error && call.startedAs) this.over.add(call.startedAs)
    if (outcome.token) {
      const name = nameOf(outcome.token)
      if (call.startedAs && name !== call.startedAs)
        this.violations.push(`a call of ${call.startedAs} in page ${page.index} got the token of ${name}`)
      if (call.over.has(name)) this.violations.push(`page ${page.index} got the token of ${name}, who had signed out`)
    }
  }

  /** Checks that a session that ended or gave way to another had a reason to. */
  private look(page: Page): void {
    const before = page.shown
    const now = page.session.state.sessionRef
    if (now !== undefined && !this.signIns.has(now)) throw new Error(`No sign-in has the id ${now}`)
    page.shown = now
    const replaced = before === undefined ? undefined : this.signIns.get(before)
    if (!replaced || now === before) return
    const later = now === undefined ? undefined : this.signIns.get(now)
    if (later && later.resolvedAt !== undefined && later.resolvedAt < replaced.begunAt)
      this.violations.push(`page ${page.index}: ${before} gave way to ${now}, an earlier sign-in`)
    // A sign-in that fails ends the one that it was to replace, before it rejects.
    const others = [...this.signIns].some(
      ([name, one]) => name !== before && !(one.resolvedAt && one.resolvedAt < replaced.begunAt),
    )
    if (!later && !others && !replaced.failed && this.endings.length === 0)
      this.violations.push(
        `page ${page.index}: ${before} was signed out as ${page.session.state.reason} without a cause`,
      )
  }

  private async drain(): Promise<void> {
    for (let count = 0; count < 500; count++) {
      const [event] = this.events().filter((one) => !one.startsWith('act'))
      if (!event) return
      await this.apply(event)
    }
    this.violations.push('operations follow operations without end')
  }

  private async ask(page: Page, what: 'call' | 'refresh'): Promise<NonNullable<Call['outcome']>> {
    page.script.splice(page.next, page.script.length, { do: what })
    await this.apply(`act ${page.index} 0`)
    await this.drain()
    return page.calls.at(-1)?.outcome ?? {}
  }

  private storedId(): string | undefined {
    return this.stored === undefined ? undefined : (JSON.parse(this.stored) as { id: string }).id
  }
}

function tokensOf(name: string, n: number): Tokens {
  return { accessToken: `${name}.${n}.access`, refreshToken: `${name}.${n}.refresh`, obtainedAtMs: startMs }
}

function nameOf(token: string): string {
  return token.split('.')[0] ?? ''
}
