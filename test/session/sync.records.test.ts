import { memoryStorage } from 'agent-auth'
import { describe, expect, test } from 'vitest'
import { faulty } from '../support/faulty-rig.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { flush } from '../support/virtual-time.ts'

const hour = 3_600_000

describe('a record that vanishes', () => {
  test('ends the session once, as store_lost, without a request or a loop', async () => {
    const { clock, service, session, records, told, eventsOf } = faulty()
    await session.signIn(service.issue())
    records.items.clear()
    for (let call = 0; call < 10; call++) expect(await codeOf(session.getAccessToken())).toBe('login_required')
    expect(eventsOf('session_ended')).toEqual([{ type: 'session_ended', reason: 'store_lost' }])
    expect(told).toEqual(['signed-in', 'signed-out store_lost'])
    expect(service.sent).toHaveLength(0)
    await session.signIn(service.issue())
    clock.advance(hour)
    expect(service.familyOf(await session.getAccessToken())).toBe(2)
  })
})

describe('a record that cannot be used', () => {
  const start = async () => {
    const rig = faulty()
    const tokens = rig.service.issue()
    await rig.session.signIn(tokens)
    return { ...rig, tokens, text: [...rig.records.items.values()][0] ?? '' }
  }

  const corrupt: readonly (readonly [string, (text: string) => string])[] = [
    ['cut off', (text) => text.slice(0, -10)],
    ['empty', () => ''],
    ['of version 0', (text) => text.replace('"v":1', '"v":0')],
    ['with half a revision', (text) => text.replace('"rev":1', '"rev":1.5')],
    ['with a broken token', (text) => text.replace(/"accessToken":"[^"]*"/, '"accessToken":"a b"')],
    ['without a time', (text) => text.replace(/"obtainedAtMs":\d+/, '"obtainedAtMs":null')],
  ]

  test.each(corrupt)('%s: signed out, reported without its content; a login replaces it', async (_, change) => {
    const { service, realm, records, text, storage } = await start()
    records.put(change(text))
    const { session, events, told } = realm({ storage })
    expect(await session.ready()).toEqual({ status: 'signed-out' })
    await flush()
    expect(events).toEqual([{ type: 'storage_degraded', reason: 'unreadable' }])
    expect(told).toEqual(['signed-out'])
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
    expect([...records.items.values()]).toEqual([change(text)])
    const next = service.issue()
    await session.signIn(next)
    expect(await session.getAccessToken()).toBe(next.accessToken)
    expect(await realm({ storage }).session.getAccessToken()).toBe(next.accessToken)
  })

  test('one that breaks under a running session is written again', async () => {
    const { clock, session, tokens, records, eventsOf } = await start()
    records.put('{"v":1')
    expect(await session.getAccessToken()).toBe(tokens.accessToken)
    await flush()
    clock.advance(5_000)
    expect(await session.getAccessToken()).toBe(tokens.accessToken)
    await flush()
    expect(records.record()).toMatchObject({ accessToken: tokens.accessToken })
    expect(eventsOf('storage_degraded')).toEqual([{ type: 'storage_degraded', reason: 'unreadable' }])
    expect(eventsOf('session_ended')).toEqual([])
  })

  const alone: readonly (readonly [string, string, (text: string) => string])[] = [
    ['of a newer version', 'newer', (text) => text.replace('"v":1', '"v":2')],
    ['of a much newer version and another shape', 'newer', () => '{"v":99,"sealed":"x"}'],
    ['that belongs to another client', 'foreign', (text) => text.replace('example.com', 'example.org')],
  ]

  test.each(alone)('one %s is refused and stays byte for byte: at the start', async (_, reason, change) => {
    const { clock, service, realm, records, text, storage, counts } = await start()
    const other = change(text)
    expect(other).not.toBe(text)
    records.put(other)
    const writes = counts.setItem + counts.removeItem
    const { session, events } = realm({ storage })
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
    expect(events).toEqual([{ type: 'storage_degraded', reason }])
    const next = service.issue()
    await session.signIn(next)
    expect(await session.getAccessToken()).toBe(next.accessToken)
    clock.advance(hour)
    expect(service.familyOf(await session.getAccessToken())).toBe(2)
    clock.advance(60_000)
    await session.getAccessToken()
    await session.signOut()
    expect([...records.items.values()]).toEqual([other])
    expect(counts.setItem + counts.removeItem).toBe(writes)
  })

  test.each(alone)('one %s stays byte for byte: under a running session', async (_, reason, change) => {
    const { clock, service, session, records, text, eventsOf } = await start()
    const other = change(text)
    records.put(other)
    clock.advance(hour)
    expect(service.familyOf(await session.getAccessToken())).toBe(1)
    clock.advance(60_000)
    await session.getAccessToken()
    await flush()
    expect([...records.items.values()]).toEqual([other])
    expect(eventsOf('storage_degraded')).toContainEqual({ type: 'storage_degraded', reason })
    expect(eventsOf('session_ended')).toEqual([])
    service.revoke(1)
    expect(await codeOf(session.getAccessToken({ forceRefresh: true }))).toBe('session_ended')
    expect([...records.items.values()]).toEqual([other])
    await session.signOut()
    expect([...records.items.values()]).toEqual([other])
  })

  test('a store that parses what it reads gives the same session', async () => {
    const { realm, records, tokens } = await start()
    const honest = records.handle()
    const parsing = {
      ...honest,
      getItem: (key: string) => {
        const text = records.items.get(key)
        return text === undefined ? null : (JSON.parse(text) as string)
      },
    }
    const { session, events } = realm({ storage: parsing })
    expect(await session.getAccessToken()).toBe(tokens.accessToken)
    expect(await session.getAccessToken({ forceRefresh: true })).toBe(records.record()?.accessToken)
    expect(events.filter(({ type }) => type === 'storage_degraded')).toEqual([])
  })

  test('the record is one JSON string with version, revision, and the id and time of the sign-in', async () => {
    const { records, tokens } = await start()
    expect(records.items.size).toBe(1)
    expect(records.record()).toEqual({
      v: 1,
      owner: [...records.items.keys()][0],
      id: expect.any(String),
      rev: 1,
      signedInAtMs: expect.any(Number),
      ...tokens,
    })
  })

  test.each([
    ['at once', (item: object) => item],
    ['later', async (item: object) => item],
  ])('a record that throws when it is read, and comes %s, is a failure of the storage', async (_, give) => {
    const item = {
      get v(): never {
        throw new Error('The text of a record.')
      },
    }
    const storage = { ...memoryStorage(), getItem: () => give(item) as unknown as string }
    const { session } = sessionRig().realm({ storage })
    expect(await codeOf(session.ready())).toBe('storage_failed')
    expect(await codeOf(session.getAccessToken())).toBe('storage_failed')
    expect(await codeOf(session.signOut())).toEqual({ resolved: undefined })
  })
})
