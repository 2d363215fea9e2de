import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runs } from '../../support/runs.ts'
import { tokenRefused, type WrittenCall, writtenHistory } from '../../support/written-history.ts'
import { check } from './check.ts'
import { formatHistory, type HistoryEvent, parseHistory } from './history.ts'
import type { PromiseName } from './promises.ts'

interface Step {
  readonly kind: WrittenCall['kind']
  readonly session: number
  readonly holder: number
  readonly beforeMs: number
  readonly afterMs: number
  readonly pauseMs: number
}

const steps = fc.array(
  fc.record<Step>({
    kind: fc.constantFrom('signIn', 'getToken', 'getToken', 'getToken', 'refresh', 'signOut'),
    session: fc.nat(2),
    holder: fc.nat(3),
    beforeMs: fc.nat(400),
    afterMs: fc.nat(400),
    pauseMs: fc.nat(900),
  }),
  { maxLength: 60 },
)

/** The calls of holders that share records, each taking effect at one moment between its ends. All promises hold. */
function correctCalls(taken: readonly Step[]): WrittenCall[] {
  const records = new Map<string, string>()
  const memories = new Map<string, { token: string | undefined; readMs: number }>()
  let [ms, lines] = [1_000, 0]
  return taken.map(({ kind, session: number, holder: place, beforeMs, afterMs, pauseMs }) => {
    ms += pauseMs
    const session = `s${number}`
    const holder = `p${place}/${session}`
    const memory = memories.get(holder)
    const call = { kind, holder, session, fromMs: ms - beforeMs, toMs: ms + afterMs }
    if (kind === 'signIn') {
      const token = `${session}x${lines++}.0`
      records.set(session, token)
      memories.set(holder, { token, readMs: ms })
      return { ...call, token, saved: true }
    }
    if (kind === 'signOut') {
      records.delete(session)
      memories.delete(holder)
      return call
    }
    const isKnown = memory?.token !== undefined && ms - memory.readMs < 1_000 && kind === 'getToken'
    const read = isKnown ? memory : { token: records.get(session), readMs: ms }
    const [line, generation] = read.token?.split('.') ?? []
    if (line !== undefined && kind === 'refresh') {
      read.token = `${line}.${Number(generation) + 1}`
      records.set(session, read.token)
    }
    memories.set(holder, read)
    const { token, readMs } = read
    return token === undefined ? { ...call, outcome: 'login_required', readMs } : { ...call, token, readMs }
  })
}

/** Calls that break one promise, in a session of their own or in one of the history. */
function broken(promise: PromiseName, session: string, ms: number): { calls: WrittenCall[]; rest: HistoryEvent[] } {
  const call = (kind: WrittenCall['kind'], holder: string, atMs: number, more: Partial<WrittenCall>): WrittenCall => ({
    kind,
    holder,
    session,
    fromMs: ms + atMs,
    toMs: ms + atMs + 50,
    readMs: ms + atMs,
    ...more,
  })
  const signedIn = call('signIn', 'q/1', 0, { token: 'late.0', saved: true })
  const get = (token: string, atMs: number): WrittenCall => call('getToken', 'q/2', atMs, { token })
  const calls: Record<PromiseName, WrittenCall[]> = {
    'one line': [signedIn, call('signIn', 'q/1', 100, { token: 'later.0', saved: true }), get('late.0', 200)],
    'sign-out': [signedIn, call('signOut', 'q/1', 100, {}), get('late.0', 200)],
    'no older token': [signedIn, get('late.1', 100), get('late.0', 200)],
    'stays signed in': [signedIn, call('getToken', 'q/2', 200, { outcome: 'login_required' })],
    'own tokens': [
      call('signIn', 'q/3', 0, { token: 'theirs.0', saved: true, session: 'theirs' }),
      get('theirs.0', 200),
    ],
  }
  return { calls: calls[promise], rest: [] }
}

const { numRuns, options } = runs(100, 10_000)

test('random correct histories are accepted, in each order of their lines', options, () => {
  fc.assert(
    fc.property(steps, fc.infiniteStream(fc.nat()), (taken, keys) => {
      const events = writtenHistory(correctCalls(taken))
      const shuffled = events.map((event) => ({ event, key: keys.next().value })).sort((a, b) => a.key - b.key)
      const report = check(parseHistory(formatHistory(shuffled.map(({ event }) => event))))
      expect(report).toMatchObject({ holds: true, violations: [], exceptions: {} })
      expect(report.calls).toBe(taken.length)
    }),
    { numRuns },
  )
})

test('one violation in a random correct history is the one that is found, with its calls alone', options, () => {
  const promises = ['one line', 'sign-out', 'no older token', 'stays signed in', 'own tokens'] as const
  const injected = fc.record({ promise: fc.constantFrom(...promises), session: fc.constantFrom('s0', 's1', 'new') })
  fc.assert(
    fc.property(steps, injected, (taken, { promise, session }) => {
      const correct = correctCalls(taken)
      const { calls, rest } = broken(promise, session, 100_000)
      const report = check(writtenHistory([...correct, ...calls], rest))
      expect(report.violations.map((found) => ({ promise: found.promise, session: found.session }))).toEqual([
        { promise, session },
      ])
      const needed = promise === 'own tokens' ? calls.slice(1) : calls
      const shown = report.shortest?.events ?? []
      expect(shown.flatMap((event) => (event.type === 'invoked' ? event.monotonicMs : []))).toEqual(
        needed.map(({ fromMs }) => fromMs),
      )
      // What it shows is a history in which the same promise does not hold.
      expect(check(shown).violations).toMatchObject([{ promise, session }])
    }),
    { numRuns },
  )
})

test('one reuse in a random correct history is found', options, () => {
  fc.assert(
    fc.property(steps, fc.nat(), (taken, index) => {
      const correct = correctCalls(taken)
      const signIns = correct.filter(({ kind }) => kind === 'signIn')
      const token = signIns[index % signIns.length]?.token
      fc.pre(token !== undefined)
      const { violations } = check(writtenHistory(correct, [tokenRefused(token ?? '', 'reused', 100_000)]))
      expect(violations).toMatchObject([{ promise: 'one line', at: `refusal of ${token}` }])
    }),
    { numRuns },
  )
})
