import { encryptedStorage, type TokenStorage } from 'agent-auth'
import { describe, expect, test } from 'vitest'
import { codeOf, type Realm, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import type { TokenServiceOptions } from '../support/token-service.ts'
import { until } from '../support/until.ts'
import { flush } from '../support/virtual-time.ts'

// Another process may have used a refresh token that the storage had. It may use none that the storage never had.

const hour = 3_600_000

/** Two realms over one store. Operations of the first one fail while they are in `failing`. */
function two(options: { lock?: boolean } & TokenServiceOptions = {}) {
  const { lock = true, ...service } = options
  const rig = sessionRig(undefined, service)
  const records = sharedRecords()
  const failing = new Set<string>()
  const operations: string[] = []
  const fault = (operation: string): void => {
    operations.push(operation)
    if (failing.has(operation)) throw new Error('Command timed out')
  }
  const storage: TokenStorage = records.handle({ lock, fault })
  const there = rig.realm({ storage: records.handle({ lock }) })
  return { ...rig, records, failing, operations, storage, here: rig.realm({ storage }), there }
}

/** A call at a time at which a failed refresh may be repeated and a pending write as well. */
async function later({ clock, here }: { clock: { advance(ms: number): void }; here: Realm }): Promise<unknown> {
  clock.advance(31_000)
  const code = await codeOf(here.session.getAccessToken())
  await flush()
  return code
}

describe('a refresh that cannot read the storage', () => {
  test('is not sent, because another process may have used the refresh token', async () => {
    const rig = two()
    const { clock, service, failing, here, there } = rig
    await here.session.signIn(service.issue())
    await there.session.ready()
    clock.advance(hour)
    const newer = await there.session.getAccessToken()
    failing.add('getItem')
    await expect(here.session.getAccessToken()).rejects.toMatchObject({ code: 'storage_failed', retryable: true })
    expect(await later(rig)).toBe('storage_failed')
    expect(service.sent).toHaveLength(1)
    expect(here.session.state.status).toBe('signed-in')
    expect(here.eventsOf('session_ended')).toEqual([])
    expect(here.eventsOf('refresh_failed')).toMatchObject([{ code: 'storage_failed' }, { code: 'storage_failed' }])
    failing.clear()
    expect(await later(rig)).toEqual({ resolved: newer })
    expect(service.sent).toHaveLength(1)
    expect(service.isAlive(1)).toBe(true)
  })

  test('is not sent over a storage without a lock if no key decrypts the record, because another process has saved it', async () => {
    const { clock, service, realm } = sessionRig()
    const inner = sharedRecords().handle({ lock: false })
    const earlier = { id: 'a', key: new Uint8Array(32).fill(1) }
    const later = { id: 'b', key: new Uint8Array(32).fill(2) }
    const here = realm({ storage: encryptedStorage(inner, { keys: [earlier] }) })
    const there = realm({ storage: encryptedStorage(inner, { keys: [later, earlier] }) })
    await here.session.signIn(service.issue())
    await there.session.ready()
    clock.advance(hour)
    await there.session.getAccessToken()
    expect(await codeOf(here.session.getAccessToken())).toBe('storage_failed')
    expect(service.sent).toHaveLength(1)
  })

  test('keeps the session if the service refuses it and no key decrypts the record after that', async () => {
    const { clock, service, realm } = sessionRig()
    const records = sharedRecords()
    const encrypted = (id: string): TokenStorage =>
      encryptedStorage(records.handle(), { keys: [{ id, key: new Uint8Array(32).fill(1) }] })
    const { session } = realm({ storage: encrypted('a') })
    await session.signIn(service.issue())
    clock.advance(hour)
    service.answer(() => Response.json({ error: 'invalid_grant' }, { status: 400 }))
    const release = service.hold()
    const call = session.getAccessToken()
    await until(() => service.sent.length > 0)
    const [name = ''] = records.items.keys()
    await encrypted('b').setItem(name, 'the record of another process')
    release()
    await expect(call).rejects.toMatchObject({ code: 'storage_failed', retryable: false })
    expect(session.state.status).toBe('signed-in')
  })
})

describe('tokens that could not be saved', () => {
  test('are saved before the next refresh is sent, so that a crash in it leaves others within the grace', async () => {
    const { clock, service, failing, here, there, records } = two({ reuse: 'grace' })
    await here.session.signIn(service.issue())
    failing.add('setItem')
    const unsaved = await here.session.getAccessToken({ forceRefresh: true })
    failing.clear()
    clock.advance(hour)
    service.answer('lose')
    void codeOf(here.session.getAccessToken())
    await until(() => service.sent.length >= 2)
    expect(records.record()).toMatchObject({ accessToken: unsaved, rev: 2 })
    await flush()
    expect(service.familyOf(await there.session.getAccessToken())).toBe(1)
    expect(service.sent.at(-1)).toBe(service.sent.at(-2))
    expect(service.history.filter(({ event }) => event === 'refused')).toEqual([])
  })

  test('are sent all the same while the storage refuses them', async () => {
    const { clock, service, failing, here, records, operations } = two()
    await here.session.signIn(service.issue())
    failing.add('setItem')
    await here.session.getAccessToken({ forceRefresh: true })
    clock.advance(hour)
    operations.length = 0
    expect(service.familyOf(await here.session.getAccessToken())).toBe(1)
    expect(operations.filter((operation) => operation === 'setItem')).toHaveLength(2)
    expect(service.sent).toHaveLength(2)
    expect(records.record()).toMatchObject({ rev: 1 })
    expect(here.eventsOf('storage_degraded')).toMatchObject([{ reason: 'write_failed' }])
  })
})

test('a refresh of saved tokens writes once', async () => {
  const { clock, service, here, operations } = two()
  await here.session.signIn(service.issue())
  clock.advance(hour)
  operations.length = 0
  await here.session.getAccessToken()
  expect(operations).toEqual(['getItem', 'getItem', 'getItem', 'setItem'])
})
