import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyText } from '../support/any-text.ts'
import { codeOf, type Realm, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { word } from '../support/token-service.ts'
import { flush } from '../support/virtual-time.ts'

/** Four ways to a record that nobody wrote so: a million together. */
const numRuns = 50
const rig = sessionRig(undefined, { token: word })
const owner = 'agent-auth:https%3A%2F%2Fauth.example.com:app:default'
const codes = ['login_required', 'session_ended', 'temporarily_unavailable', 'client_rejected', 'config_invalid']

/** What a session may do with a record it did not write: be signed out, or go by its tokens; throw nothing else, say nothing of it. */
async function expectOnlyTypedResults(stored: unknown): Promise<Realm> {
  const records = sharedRecords()
  const honest = records.handle()
  let replaced = false
  const storage = {
    ...honest,
    // Some stores parse what they read.
    getItem: (key: string) => (replaced ? honest.getItem(key) : (stored as string)),
    setItem: (key: string, value: string) => {
      replaced = true
      return honest.setItem(key, value)
    },
    removeItem: (key: string) => {
      replaced = true
      return honest.removeItem(key)
    },
  }
  const realm = rig.realm({ storage })
  const { session, events } = realm
  const state = await session.ready()
  await flush()
  const answer = await codeOf(session.getAccessToken())
  if (typeof answer === 'string') expect(codes).toContain(answer)
  else expect(answer).toEqual({ resolved: expect.stringMatching(/^[\x21-\x7e]{1,16384}$/) })
  if (state.status === 'signed-out') expect(answer).toBe('login_required')
  for (const event of events)
    if (event.type === 'storage_degraded')
      expect(event).toEqual({ type: event.type, reason: expect.stringMatching(/^(unreadable|newer|foreign)$/) })
  // Another start is no worse, and the next login works unless the record is somebody else's to keep.
  const next = rig.service.issue()
  await session.signIn(next)
  expect(await session.getAccessToken()).toBe(next.accessToken)
  return realm
}

const good = {
  v: 1,
  owner,
  id: '00000000-0000-4000-8000-000000000000',
  rev: 1,
  accessToken: 'access',
  refreshToken: 'refresh',
  expiresAtMs: rig.clock.wallMs() + 3_600_000,
  obtainedAtMs: rig.clock.wallMs(),
  scope: 'api.access',
}

test('the record these properties start from is a good one', async () => {
  const records = sharedRecords()
  records.items.set(owner, JSON.stringify(good))
  expect(await rig.realm({ storage: records.handle() }).session.getAccessToken()).toBe('access')
})

test('any text in the store gives a typed result', async () => {
  const text = fc.oneof(anyText(10), fc.json(), fc.base64String(), fc.string({ maxLength: 2_000 }))
  await fc.assert(
    fc.asyncProperty(text, async (stored) => void (await expectOnlyTypedResults(stored))),
    { numRuns },
  )
})

test('a good record with any bytes cut out, changed or put in gives a typed result', async () => {
  const text = JSON.stringify(good)
  const edit = fc.record({
    at: fc.nat(text.length),
    cut: fc.nat(20),
    put: fc.oneof(anyText(5), fc.constantFrom('"', '}', '{', ',', '\\', '\u0000', '1e999')),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 3 }), async (edits) => {
      let stored = text
      for (const { at, cut, put } of edits) stored = stored.slice(0, at) + put + stored.slice(at + cut)
      await expectOnlyTypedResults(stored)
    }),
    { numRuns },
  )
})

test('nothing of an unreadable record is in an event or an error', async () => {
  const mark = 'Qz7mark'
  await fc.assert(
    fc.asyncProperty(fc.string({ maxLength: 20 }), fc.constantFrom(...Object.keys(good)), async (tail, name) => {
      const { session, events } = await expectOnlyTypedResults(JSON.stringify({ ...good, [name]: [mark + tail] }))
      expect(JSON.stringify(events)).not.toContain(mark)
      expect(JSON.stringify(session.state)).not.toContain(mark)
    }),
    { numRuns: 100 },
  )
})
