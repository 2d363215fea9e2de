import type { TokenStorage } from 'agent-auth'
import { describe, expect, it } from 'vitest'
import { faulty } from '../support/faulty-rig.ts'
import { codeOf, type Realm, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { flush } from '../support/virtual-time.ts'

// A session whose record could not be saved: a sign-out elsewhere finds no record that it could remove.

function unsavedThere() {
  const rig = sessionRig()
  const records = sharedRecords()
  let isFull = true
  const fault = (operation: string): void => {
    if (isFull && operation === 'setItem') throw new Error('full')
  }
  const here = rig.realm({ storage: records.handle() })
  const there = rig.realm({ storage: records.handle({ fault }) })
  const freeSpace = (): void => {
    isFull = false
  }
  /** The pending write is repeated when a token is asked for, every five seconds. */
  const laterCall = async ({ session }: Realm): Promise<unknown> => {
    rig.clock.advance(6_000)
    const code = await codeOf(session.getAccessToken())
    await flush()
    return code
  }
  return { ...rig, records, here, there, freeSpace, laterCall }
}

describe('resume after a sign-out elsewhere', () => {
  it('ends a session that could not be saved, which then never reaches the store', async () => {
    const { here, there, service, records, freeSpace, laterCall } = unsavedThere()
    await there.session.signIn(service.issue())
    freeSpace()
    await here.session.signOut()
    await there.session.resume({ after: 'sign-out' })
    expect(there.session.state).toEqual({ status: 'signed-out', reason: 'signed_out' })
    expect(there.eventsOf('session_ended')).toEqual([{ type: 'session_ended', reason: 'signed_out' }])
    expect(await laterCall(there)).toBe('login_required')
    expect(records.items.size).toBe(0)
    expect(await laterCall(here)).toBe('login_required')
  })

  it('ends a sign-in that still waits for an earlier sign-out here', async () => {
    const { realm, service } = sessionRig()
    const records = sharedRecords()
    let isAnswered: Promise<void> | undefined
    const { session } = realm({ storage: records.handle({ step: async () => isAnswered }) })
    await session.ready()
    let answer = (): void => {}
    isAnswered = new Promise((resolve) => {
      answer = resolve
    })
    const signedOut = session.signOut()
    const signedIn = session.signIn(service.issue())
    const resumed = session.resume({ after: 'sign-out' })
    answer()
    await Promise.all([signedOut, signedIn, resumed])
    expect(session.state.status).toBe('signed-out')
    expect(records.items.size).toBe(0)
    // A sign-in that begins later is not concerned.
    await session.signIn(service.issue())
    expect(session.state.status).toBe('signed-in')
  })

  it('leaves a saved session to what the store shows', async () => {
    const { here, there, service, freeSpace } = unsavedThere()
    freeSpace()
    await here.session.signIn(service.issue())
    await there.session.ready()
    await there.session.resume({ after: 'sign-out' })
    expect(there.session.state.status).toBe('signed-in')
    await here.session.signOut()
    await there.session.resume({ after: 'sign-out' })
    expect(there.session.state).toEqual({ status: 'signed-out', reason: 'store_lost' })
  })

  it('leaves the record of a user who signed in after that sign-out, and takes it over', async () => {
    const { here, there, service, records } = unsavedThere()
    await there.session.signIn(service.issue())
    await here.session.signOut()
    await here.session.signIn(service.issue())
    await there.session.resume({ after: 'sign-out' })
    await flush()
    expect(there.session.state.sessionRef).toBe(here.session.state.sessionRef)
    expect(records.items.size).toBe(1)
  })

  it('removes the record of a sign-in that is being saved meanwhile', async () => {
    const rig = sessionRig()
    const records = sharedRecords()
    let land = (): void => {}
    const step = (operation: string): Promise<void> =>
      new Promise((resolve) => {
        if (operation === 'setItem') land = resolve
        else resolve()
      })
    const there = rig.realm({ storage: records.handle({ step }) })
    const signedIn = there.session.signIn(rig.service.issue())
    await flush()
    await there.session.resume({ after: 'sign-out' })
    expect(there.session.state.status).toBe('signed-out')
    land()
    await signedIn
    await flush()
    expect(records.items.size).toBe(0)
    expect(there.session.state.status).toBe('signed-out')
  })

  it('cancels a refresh of the session that it ends', async () => {
    const { there, service, records, freeSpace } = unsavedThere()
    await there.session.signIn(service.issue())
    const release = service.hold()
    const call = codeOf(there.session.getAccessToken({ forceRefresh: true }))
    await flush()
    freeSpace()
    await there.session.resume({ after: 'sign-out' })
    expect(await Promise.race([call, flush().then(() => 'still waiting')])).toBe('login_required')
    release()
    await flush()
    expect(records.items.size).toBe(0)
  })

  it('tells the listeners although the storage cannot be read', async () => {
    const { service, session, failing, told } = faulty()
    failing.add('setItem')
    await session.signIn(service.issue())
    failing.add('getItem')
    const code = await codeOf(session.resume({ after: 'sign-out' }))
    expect({ code, told }).toEqual({ code: 'storage_failed', told: ['signed-in', 'signed-out signed_out'] })
  })

  it('resume without a sign-out keeps a session that could not be saved', async () => {
    const { there, service, records, freeSpace, laterCall } = unsavedThere()
    await there.session.signIn(service.issue())
    await there.session.resume()
    expect(there.session.state.status).toBe('signed-in')
    freeSpace()
    await laterCall(there)
    expect(records.items.size).toBe(1)
  })
})

describe('a sign-in that cannot be saved', () => {
  it('leaves no record of the user before for the next start', async () => {
    const { here, there, service, records, freeSpace, laterCall } = unsavedThere()
    await here.session.signIn(service.issue())
    const next = service.issue()
    await there.session.signIn(next)
    expect(records.items.size).toBe(0)
    expect(await codeOf(here.session.getAccessToken())).toBe('login_required')
    expect(await codeOf(there.session.getAccessToken())).toEqual({ resolved: next.accessToken })
    freeSpace()
    await laterCall(there)
    expect(records.record()?.accessToken).toBe(next.accessToken)
    expect(there.eventsOf('storage_degraded')).toMatchObject([{ type: 'storage_degraded', reason: 'write_failed' }])
  })

  it('is saved by the next call after the storage works again, also if the monotonic clock is at zero', async () => {
    const { realm, service, clock } = sessionRig()
    const records = sharedRecords()
    let isFull = true
    const fault = (operation: string): void => {
      if (isFull && operation === 'setItem') throw new Error('full')
    }
    const atZero = { wallMs: () => clock.wallMs(), monotonicMs: () => 0 }
    const { session } = realm({ storage: records.handle({ fault }), options: { clock: atZero } })
    await session.signIn(service.issue())
    isFull = false
    await session.getAccessToken()
    await flush()
    expect(records.items.size).toBe(1)
  })

  it('removes that record only while it has the lock', async () => {
    const rig = sessionRig()
    const records = sharedRecords()
    const { withLock, ...inner } = records.handle()
    let isLocked = false
    const removals: boolean[] = []
    const storage: TokenStorage = {
      ...inner,
      async setItem() {
        throw new Error('full')
      },
      async removeItem(key) {
        removals.push(isLocked)
        await inner.removeItem(key)
      },
      withLock: async (name, task, options) => {
        const locked = (): ReturnType<typeof task> => {
          isLocked = true
          return task().finally(() => {
            isLocked = false
          })
        }
        return withLock?.(name, locked, options) as ReturnType<typeof task>
      },
    }
    await rig.realm({ storage: records.handle() }).session.signIn(rig.service.issue())
    await rig.realm({ storage }).session.signIn(rig.service.issue())
    expect(removals).toEqual([true])
    expect(records.items.size).toBe(0)
  })

  it('leaves the record of a sign-in that was saved elsewhere while this one failed', async () => {
    const rig = sessionRig()
    const records = sharedRecords()
    const [here, third] = [rig.realm({ storage: records.handle({ lock: false }) }), rig.service.issue()]
    const failing: TokenStorage = {
      ...records.handle(),
      async setItem() {
        await here.session.signIn(third)
        throw new Error('full')
      },
    }
    await here.session.signIn(rig.service.issue())
    const there = rig.realm({ storage: failing })
    await there.session.signIn(rig.service.issue())
    expect(records.record()?.accessToken).toBe(third.accessToken)
  })

  it('goes on if that record cannot be removed either, and replaces it later', async () => {
    const rig = sessionRig()
    const records = sharedRecords()
    let isBroken = true
    const fault = (operation: string): void => {
      if (isBroken && operation !== 'getItem') throw new Error('read only')
    }
    const here = rig.realm({ storage: records.handle() })
    const there = rig.realm({ storage: records.handle({ fault }) })
    await here.session.signIn(rig.service.issue())
    const next = rig.service.issue()
    await there.session.signIn(next)
    expect(await codeOf(there.session.getAccessToken())).toEqual({ resolved: next.accessToken })
    isBroken = false
    rig.clock.advance(6_000)
    await there.session.getAccessToken()
    await flush()
    expect(records.record()?.accessToken).toBe(next.accessToken)
  })
})

describe('two sign-ins that could both not be saved', () => {
  it.each(['earlier', 'later'] as const)(
    'the later one is in the store and in both pages if the %s one is written first',
    async (first) => {
      const { clock, service, realm } = sessionRig()
      const records = sharedRecords()
      let isFull = true
      const fault = (operation: string): void => {
        if (isFull && operation === 'setItem') throw new Error('full')
      }
      const earlier = realm({ storage: records.handle({ fault }) })
      const later = realm({ storage: records.handle({ fault }) })
      const tokens = service.issue()
      await earlier.session.signIn(service.issue())
      clock.advance(60_000)
      await later.session.signIn(tokens)
      isFull = false
      const pages = first === 'earlier' ? [earlier, later] : [later, earlier]
      for (const { session } of [...pages, ...pages]) {
        clock.advance(6_000)
        await codeOf(session.getAccessToken())
        await flush()
      }
      expect(records.record()?.accessToken).toBe(tokens.accessToken)
      for (const { session } of pages) expect(await session.getAccessToken()).toBe(tokens.accessToken)
    },
  )
})

const name = 'agent-auth:https%3A%2F%2Fauth.example.com:app:default'
const otherRecords: readonly (readonly [reason: string, text: string])[] = [
  ['newer', '{"v":2}'],
  [
    'foreign',
    JSON.stringify({ v: 1, owner: 'another name', id: 'theirs', rev: 1, accessToken: 'at', obtainedAtMs: 1 }),
  ],
]

it.each(otherRecords)(
  'a sign-in that finds a %s record reports it and leaves it, without another read',
  async (reason, text) => {
    const { realm, service } = sessionRig()
    const records = sharedRecords()
    records.items.set(name, text)
    const { session, eventsOf } = realm({ storage: records.handle() })
    await session.signIn(service.issue())
    expect(eventsOf('storage_degraded')).toEqual([{ type: 'storage_degraded', reason }])
    expect(records.items.get(name)).toBe(text)
  },
)

it.each(otherRecords)('a pending write leaves a %s record that it finds once it has the lock', async (reason, text) => {
  const { realm, service } = sessionRig()
  const records = sharedRecords()
  let isFull = true
  const step = async (operation: string): Promise<void> => {
    if (isFull && operation === 'setItem') throw new Error('full')
  }
  const { session, eventsOf } = realm({ storage: records.handle({ step }) })
  const tokens = service.issue()
  await session.signIn(tokens)
  isFull = false
  await session.resume()
  records.items.set(name, text)
  // The last read was a moment ago, so the call itself reads nothing.
  expect(await session.getAccessToken()).toBe(tokens.accessToken)
  await flush()
  expect(eventsOf('storage_degraded')).toContainEqual({ type: 'storage_degraded', reason })
  expect(records.items.get(name)).toBe(text)
})

it('a sign-in reports an unreadable record that it finds, and writes over it', async () => {
  const { realm, service } = sessionRig()
  const records = sharedRecords()
  records.items.set(name, '{"v":1')
  const { session, eventsOf } = realm({ storage: records.handle() })
  const tokens = service.issue()
  await session.signIn(tokens)
  expect(eventsOf('storage_degraded')).toEqual([{ type: 'storage_degraded', reason: 'unreadable' }])
  expect(records.record()).toMatchObject({ accessToken: tokens.accessToken })
})
