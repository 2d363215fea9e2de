import type { TokenStorage } from 'agent-auth'
import { describe, expect, test } from 'vitest'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { until } from '../support/until.ts'
import { flush } from '../support/virtual-time.ts'

const hour = 3_600_000

/**
 * What becomes of a write or a removal: it fails, or it takes effect and is reported as failed. `outage`: it fails, and so does each
 * read from then on.
 */
type Fate = 'good' | 'fails' | 'unanswered' | 'outage'

/**
 * Two realms over one store. `fates` are those of the first realm's writes in turn and `removal` that of its removals;
 * `unreadable` makes its reads fail and `unlockable` its locks. Its next reads wait for the promises of `held`.
 */
function lossy(...fates: Fate[]) {
  return lossyOf(fates, 'shared')
}

/** The same, where the first realm locks only itself. */
function lossyWithoutLock() {
  return lossyOf([], 'none')
}

function lossyOf(fates: Fate[], lock: 'shared' | 'none') {
  const rig = sessionRig()
  const records = sharedRecords()
  const { withLock, ...inner } = records.handle()
  const state = { unreadable: false, unlockable: false, removal: 'good' as Fate, held: [] as Promise<void>[] }
  const shared: Pick<TokenStorage, 'withLock'> = {
    async withLock(name, task, options) {
      if (state.unlockable) throw new Error('Command timed out')
      return withLock?.(name, task, options) as ReturnType<typeof task>
    },
  }
  const storage = {
    async getItem(key: string) {
      await state.held.shift()
      if (state.unreadable) throw new Error('Command timed out')
      return inner.getItem(key)
    },
    async setItem(key: string, value: string) {
      const fate = fates.shift() ?? 'good'
      if (fate === 'outage') state.unreadable = true
      if (fate === 'good' || fate === 'unanswered') await inner.setItem(key, value)
      if (fate !== 'good') throw new Error('Command timed out')
    },
    async removeItem(key: string) {
      if (state.removal !== 'fails') await inner.removeItem(key)
      if (state.removal !== 'good') throw new Error('Command timed out')
    },
    ...(lock === 'shared' && shared),
  }
  return {
    ...rig,
    records,
    state,
    fates,
    here: rig.realm({ storage }),
    there: rig.realm({ storage: records.handle() }),
  }
}

type Rig = ReturnType<typeof lossy>

/** Reads fail from the moment at which the next write has taken effect. */
function unreadableOnceStored({ records, state }: Pick<Rig, 'records' | 'state'>): void {
  let isFirst = true
  records.onChange(() => {
    if (isFirst) state.unreadable = true
    isFirst = false
  })
}

/** The other realm signs out; whether anything of the session is left afterwards, in memory or in the store. */
async function signOutThere({ clock, here, there, records }: Rig): Promise<void> {
  await there.session.signOut()
  expect(records.items.size).toBe(0)
  clock.advance(6_000)
  expect(await codeOf(here.session.getAccessToken())).toBe('login_required')
  await flush()
  clock.advance(6_000)
  expect(await codeOf(here.session.getAccessToken())).toBe('login_required')
  await flush()
  expect(records.items.size).toBe(0)
  expect(here.session.state).toEqual({ status: 'signed-out', reason: 'store_lost' })
}

describe('a sign-in for which no read succeeded', () => {
  test.each([
    ['an earlier user, refreshed since, is replaced', 'there first', 2],
    ['a later user, refreshed or not, is taken over', 'here first', 2],
  ] as const)('the record of %s', async (_, order, winner) => {
    const rig = lossy('fails')
    const { here, there, service, state, clock } = rig
    state.unreadable = true
    const realms = order === 'there first' ? [there, here] : [here, there]
    for (const { session } of realms) {
      await session.signIn(service.issue())
      clock.advance(1_000)
    }
    expect(service.familyOf(await there.session.getAccessToken({ forceRefresh: true }))).toBe(
      order === 'there first' ? 1 : 2,
    )
    state.unreadable = false
    clock.advance(6_000)
    await here.session.getAccessToken().catch(() => {})
    await flush()
    for (const { session } of [here, there]) {
      clock.advance(6_000)
      await session.ready()
      expect(service.familyOf(await session.getAccessToken())).toBe(winner)
    }
  })
})

describe('a write that takes place and is reported as failed', () => {
  test('of a sign-in into an empty store: a sign-out elsewhere is not undone', async () => {
    const rig = lossy('unanswered')
    await rig.here.session.signIn(rig.service.issue())
    expect(rig.records.items.size).toBe(1)
    expect(rig.here.eventsOf('storage_degraded')).toMatchObject([{ type: 'storage_degraded', reason: 'write_failed' }])
    await signOutThere(rig)
  })

  test('the same when the store could not be read before: it is read as soon as the write has ended', async () => {
    const rig = lossy('unanswered')
    rig.state.unreadable = true
    const signedIn = rig.here.session.signIn(rig.service.issue())
    rig.records.onChange(() => {
      rig.state.unreadable = false
    })
    await signedIn
    await signOutThere(rig)
  })

  test('the same when it can be read again only at a later call', async () => {
    const rig = lossy('unanswered')
    rig.state.unreadable = true
    const tokens = rig.service.issue()
    await rig.here.session.signIn(tokens)
    rig.state.unreadable = false
    rig.clock.advance(1_000)
    expect(await rig.here.session.getAccessToken()).toBe(tokens.accessToken)
    await signOutThere(rig)
  })

  test('of a write that was owed', async () => {
    const rig = lossy('fails', 'unanswered')
    const { here, service, records, clock } = rig
    const tokens = service.issue()
    await here.session.signIn(tokens)
    clock.advance(6_000)
    expect(await here.session.getAccessToken()).toBe(tokens.accessToken)
    await flush()
    expect(records.items.size).toBe(1)
    await signOutThere(rig)
  })

  test('of the refresh of a session that was never saved', async () => {
    const rig = lossy('fails', 'unanswered')
    const { here, service, records, clock } = rig
    await here.session.signIn(service.issue())
    clock.advance(hour)
    expect(service.familyOf(await here.session.getAccessToken())).toBe(1)
    await flush()
    expect(records.items.size).toBe(1)
    await signOutThere(rig)
  })

  test('of a refresh, which a sign-out elsewhere follows: the listeners are notified of the end without another call', async () => {
    const { here, service, records } = lossy('good', 'unanswered')
    await here.session.signIn(service.issue())
    records.onChange(() => records.items.clear())
    await here.session.getAccessToken({ forceRefresh: true })
    await flush()
    expect(here.session.state).toEqual({ status: 'signed-out', reason: 'store_lost' })
    expect(here.told.at(-1)).toBe('signed-out store_lost')
  })

  test('of a sign-in, where the read after it fails too: a sign-out elsewhere is not undone', async () => {
    const rig = lossy('unanswered')
    unreadableOnceStored(rig)
    await rig.here.session.signIn(rig.service.issue())
    expect(rig.records.items.size).toBe(1)
    rig.state.unreadable = false
    await signOutThere(rig)
  })

  test('of a sign-in that no read of the store ever succeeded for: the same', async () => {
    const rig = lossy('unanswered')
    rig.state.unreadable = true
    await rig.here.session.signIn(rig.service.issue())
    expect(rig.records.items.size).toBe(1)
    rig.state.unreadable = false
    await signOutThere(rig)
  })

  test('of a write that was pending, where the read after it fails too: the same', async () => {
    const rig = lossy('fails', 'unanswered')
    const { here, service, records, state, clock } = rig
    const tokens = service.issue()
    await here.session.signIn(tokens)
    unreadableOnceStored(rig)
    clock.advance(6_000)
    expect(await here.session.getAccessToken()).toBe(tokens.accessToken)
    await flush()
    expect(records.items.size).toBe(1)
    state.unreadable = false
    await signOutThere(rig)
  })

  test('of the refresh of a session that was never saved, where the read after it fails too: the same', async () => {
    const rig = lossy('fails', 'unanswered')
    const { here, service, records, state, clock } = rig
    await here.session.signIn(service.issue())
    unreadableOnceStored(rig)
    clock.advance(hour)
    expect(service.familyOf(await here.session.getAccessToken())).toBe(1)
    await flush()
    expect(records.items.size).toBe(1)
    state.unreadable = false
    await signOutThere(rig)
  })

  test('a pending write that takes effect counts as saved at the next read that succeeds', async () => {
    const rig = lossy('unanswered')
    const { here, service, records, state, clock } = rig
    unreadableOnceStored(rig)
    const tokens = service.issue()
    await here.session.signIn(tokens)
    state.unreadable = false
    clock.advance(1_000)
    expect(await here.session.getAccessToken()).toBe(tokens.accessToken)
    records.items.clear()
    clock.advance(1_000)
    expect(await codeOf(here.session.getAccessToken())).toBe('login_required')
  })

  test('a sign-in whose write did fail goes on, and is written again', async () => {
    const { here, there, service, records, clock } = lossy('fails')
    const tokens = service.issue()
    await here.session.signIn(tokens)
    await there.session.signOut()
    clock.advance(6_000)
    expect(await here.session.getAccessToken()).toBe(tokens.accessToken)
    await flush()
    expect(records.record()).toMatchObject({ accessToken: tokens.accessToken })
    expect(here.told).toEqual(['signed-in'])
  })
})

describe('a sign-in that could not be saved', () => {
  test('over a record that this realm had not read: the refresh of the person before does not undo it', async () => {
    const { clock, service, records, state, here, there } = lossy('fails')
    await there.session.signIn(service.issue())
    const tokens = service.issue()
    state.removal = 'fails'
    await here.session.signIn(tokens)
    await there.session.getAccessToken({ forceRefresh: true })
    clock.advance(1_100)
    const { sessionRef } = here.session.state
    expect(await here.session.getAccessToken()).toBe(tokens.accessToken)
    clock.advance(6_000)
    expect(await here.session.getAccessToken()).toBe(tokens.accessToken)
    await flush()
    expect(records.record()).toMatchObject({ accessToken: tokens.accessToken })
    expect(here.session.state.sessionRef).toBe(sessionRef)
  })

  test.each(['good', 'unanswered'] as const)(
    'over such a record, whose removal takes effect and is %s: the session goes on, and is written later',
    async (removal) => {
      const { clock, service, records, state, here, there } = lossy('fails')
      await there.session.signIn(service.issue())
      state.removal = removal
      const tokens = service.issue()
      await here.session.signIn(tokens)
      expect(records.items.size).toBe(0)
      clock.advance(6_000)
      expect(await here.session.getAccessToken()).toBe(tokens.accessToken)
      await flush()
      expect(records.record()).toMatchObject({ accessToken: tokens.accessToken })
      expect(here.eventsOf('session_ended')).toEqual([])
    },
  )

  test.each(['lock', 'read'] as const)(
    'because its first %s failed: a later sign-in elsewhere is not overwritten',
    async (failing) => {
      const { clock, service, records, state, here, there } = lossy(failing === 'lock' ? 'good' : 'fails')
      state.unlockable = failing === 'lock'
      state.unreadable = failing === 'read'
      await here.session.signIn(service.issue())
      expect(here.eventsOf('storage_degraded').map(({ reason }) => reason)).toEqual(
        failing === 'lock' ? ['write_failed'] : ['read_failed', 'write_failed'],
      )
      clock.advance(1)
      const later = service.issue()
      await there.session.signIn(later)
      state.unlockable = false
      state.unreadable = false
      clock.advance(6_000)
      expect(await codeOf(here.session.getAccessToken())).toBe('session_changed')
      await flush()
      expect(records.record()).toMatchObject({ accessToken: later.accessToken })
      expect(await here.session.getAccessToken()).toBe(later.accessToken)
    },
  )

  test.each(['lock', 'read', 'lock and read'] as const)(
    'because its first %s failed: it replaces the sign-in that stood there before',
    async (failing) => {
      const { clock, service, records, state, here, there } = lossy(failing === 'read' ? 'fails' : 'good')
      await there.session.signIn(service.issue())
      clock.advance(1)
      state.unlockable = failing !== 'read'
      state.unreadable = failing !== 'lock'
      const tokens = service.issue()
      await here.session.signIn(tokens)
      state.unlockable = false
      state.unreadable = false
      clock.advance(6_000)
      expect(await here.session.getAccessToken()).toBe(tokens.accessToken)
      await flush()
      expect(records.record()).toMatchObject({ accessToken: tokens.accessToken })
      expect(await codeOf(there.session.getAccessToken())).toBe('session_changed')
    },
  )

  test('because neither lock nor read succeeded: it is saved as soon as they do', async () => {
    const { clock, service, records, state, here } = lossy()
    state.unlockable = true
    state.unreadable = true
    const tokens = service.issue()
    await here.session.signIn(tokens)
    // This call tries to save it and does not come as far as the write.
    expect(await here.session.getAccessToken()).toBe(tokens.accessToken)
    await flush()
    state.unlockable = false
    state.unreadable = false
    clock.advance(6_000)
    expect(await here.session.getAccessToken()).toBe(tokens.accessToken)
    await flush()
    expect(records.record()).toMatchObject({ accessToken: tokens.accessToken })
  })

  test('the same, where a refresh that could not read came before the read that follows the lock', async () => {
    const { clock, service, records, state, here } = lossy()
    state.unlockable = true
    let answer = (): void => {}
    state.held.push(
      new Promise((resolve) => {
        answer = resolve
      }),
    )
    const tokens = service.issue()
    const signedIn = here.session.signIn(tokens)
    await flush()
    state.unlockable = false
    state.unreadable = true
    const refreshed = await here.session.getAccessToken({ rejected: tokens.accessToken })
    answer()
    await signedIn
    state.unreadable = false
    clock.advance(6_000)
    expect(await here.session.getAccessToken()).toBe(refreshed)
    await flush()
    expect(records.record()).toMatchObject({ accessToken: refreshed })
  })

  test('and a refresh that could not read came before the read after its write: a sign-out elsewhere is not undone', async () => {
    const { clock, service, records, state, here, there } = lossy('unanswered')
    let answer = (): void => {}
    const held = new Promise<void>((resolve) => {
      answer = resolve
    })
    state.held.push(Promise.resolve(), held)
    const tokens = service.issue()
    const signedIn = here.session.signIn(tokens)
    await flush()
    state.unreadable = true
    await here.session.getAccessToken({ rejected: tokens.accessToken })
    answer()
    await signedIn
    state.unreadable = false
    await there.session.signOut()
    clock.advance(6_000)
    expect(await codeOf(here.session.getAccessToken())).toBe('login_required')
    expect(here.session.state).toEqual({ status: 'signed-out', reason: 'store_lost' })
    expect(records.items.size).toBe(0)
  })

  test('over such a record: a third person’s sign-in elsewhere is followed all the same', async () => {
    const { clock, service, here, there } = lossy('fails')
    await there.session.signIn(service.issue())
    await here.session.signIn(service.issue())
    const third = service.issue()
    await there.session.signIn(third)
    clock.advance(1_100)
    expect(await codeOf(here.session.getAccessToken())).toBe('session_changed')
    expect(await here.session.getAccessToken()).toBe(third.accessToken)
  })

  /** The lock of the first realm fails while its reads succeed, so that nothing of its sign-in is written. */
  async function signedInWithoutLock(): Promise<Rig & { readonly accessToken: string }> {
    const rig: Rig = lossy()
    await rig.there.session.signIn(rig.service.issue())
    rig.state.unlockable = true
    const tokens = rig.service.issue()
    await rig.here.session.signIn(tokens)
    rig.state.unlockable = false
    return { ...rig, accessToken: tokens.accessToken }
  }

  /** The refresh of the sign-in before this one is refused, so that the other realm removes its record. */
  async function expectKeptWithoutEarlier(rig: Rig & { readonly accessToken: string }): Promise<void> {
    const { clock, service, records, here, there, accessToken } = rig
    service.revoke(1)
    expect(await codeOf(there.session.getAccessToken({ forceRefresh: true }))).toBe('session_ended')
    expect(records.items.size).toBe(0)
    clock.advance(6_000)
    expect(await here.session.getAccessToken()).toBe(accessToken)
    await flush()
    expect(records.record()).toMatchObject({ accessToken })
    expect(here.told).toEqual(['signed-in'])
  }

  test('goes on and is saved if the record of the sign-in before it is removed because its refresh is refused (histories on PostgreSQL, seed eight)', async () => {
    await expectKeptWithoutEarlier(await signedInWithoutLock())
  })

  test('goes on if its write and the read after that failed, and a later read showed the record of the sign-in before it, which is then removed (histories on PostgreSQL, seed eight)', async () => {
    const rig: Rig = lossy('outage', 'fails')
    const { clock, service, state, here, there } = rig
    await there.session.signIn(service.issue())
    const tokens = service.issue()
    await here.session.signIn(tokens)
    const reported = here.eventsOf('storage_degraded').map(({ reason }) => reason)
    expect(reported).toEqual(['write_failed', 'read_failed'])
    state.unreadable = false
    clock.advance(6_000)
    expect(await here.session.getAccessToken()).toBe(tokens.accessToken)
    await flush()
    await expectKeptWithoutEarlier({ ...rig, accessToken: tokens.accessToken })
  })

  test('ends if it was saved once, a write and the read after that failed, and a record of before, which a failover brought back, is removed', async () => {
    const { clock, service, records, state, here, there, fates } = lossy()
    await there.session.signIn(service.issue())
    const [before] = [...records.items]
    await here.session.signIn(service.issue())
    records.items.clear()
    if (before) records.items.set(...before)
    clock.advance(6_000)
    fates.push('outage')
    const accessToken = await here.session.getAccessToken()
    await flush()
    state.unreadable = false
    clock.advance(3_000)
    expect(await here.session.getAccessToken()).toBe(accessToken)
    records.items.clear()
    clock.advance(3_000)
    expect(await codeOf(here.session.getAccessToken())).toBe('login_required')
    expect(here.session.state).toEqual({ status: 'signed-out', reason: 'store_lost' })
  })

  test('goes on if that record is removed by a sign-out elsewhere, as if no record had been there', async () => {
    const { clock, records, here, there, accessToken } = await signedInWithoutLock()
    await there.session.signOut()
    clock.advance(6_000)
    expect(await here.session.getAccessToken()).toBe(accessToken)
    await flush()
    expect(records.record()).toMatchObject({ accessToken })
  })

  test('ends with that sign-out if this page or process learns of it', async () => {
    const { clock, records, here, there } = await signedInWithoutLock()
    await there.session.signOut()
    await here.session.resume({ after: 'sign-out' })
    expect(here.session.state).toEqual({ status: 'signed-out', reason: 'signed_out' })
    clock.advance(6_000)
    expect(await codeOf(here.session.getAccessToken())).toBe('login_required')
    await flush()
    expect(records.items.size).toBe(0)
  })

  test.each(['first save', 'pending write'] as const)(
    'ends if its %s over that record took effect and a sign-out elsewhere came before the next read',
    async (which) => {
      const rig = which === 'first save' ? lossy() : await signedInWithoutLock()
      const { clock, records, service, here, there, fates } = rig
      if (which === 'first save') await there.session.signIn(service.issue())
      fates.push('unanswered')
      records.onChange(() => {
        if (records.record()?.id === here.session.state.sessionRef) records.items.clear()
      })
      clock.advance(6_000)
      if (which === 'first save') await here.session.signIn(service.issue())
      else await here.session.getAccessToken()
      await flush()
      expect(records.items.size).toBe(0)
      expect(here.session.state).toEqual({ status: 'signed-out', reason: 'store_lost' })
    },
  )

  test('a pending write that ends after the next sign-in leaves that one its way: it is saved without a read', async () => {
    const { clock, service, realm } = sessionRig()
    const records = sharedRecords()
    const writes: (() => void)[] = []
    let fault: 'write' | 'read' | undefined = 'write'
    const { session } = realm({
      storage: records.handle({
        async step(operation) {
          if (operation === 'setItem' && fault === 'write') throw new Error('disk')
          if (operation === 'getItem' && fault === 'read') throw new Error('disk')
          if (operation === 'setItem') await new Promise<void>((resolve) => void writes.push(resolve))
        },
      }),
    })
    await session.signIn(service.issue())
    fault = undefined
    clock.advance(6_000)
    await session.getAccessToken()
    await flush()
    expect(writes).toHaveLength(1)
    const tokens = service.issue()
    const signedIn = session.signIn(tokens)
    fault = 'read'
    for (let turn = 0; turn < 3; turn++) {
      for (const go of writes.splice(0)) go()
      await flush()
    }
    await signedIn
    expect(records.record()).toMatchObject({ accessToken: tokens.accessToken })
  })
})

describe('a session that was saved, and whose record was replaced by that of an earlier sign-in', () => {
  test.each(['saved', 'perhaps saved'] as const)(
    'ends if that record is removed, because a sign-out elsewhere removes whatever is stored: %s',
    async (how) => {
      const { clock, service, records, state, fates, here, there } = lossy()
      await there.session.signIn(service.issue())
      const [earlier = ''] = records.items.values()
      if (how === 'perhaps saved') fates.push('unanswered')
      if (how === 'perhaps saved') unreadableOnceStored({ records, state })
      await here.session.signIn(service.issue())
      // A delayed write of the other process arrives, or a failover brings it back. Here it was refreshed once more.
      records.put(earlier.replace('"rev":1', '"rev":2'))
      state.unreadable = false
      state.unlockable = true
      clock.advance(6_000)
      await here.session.getAccessToken()
      await flush()
      state.unlockable = false
      await there.session.signOut()
      expect(records.items.size).toBe(0)
      clock.advance(6_000)
      expect(await codeOf(here.session.getAccessToken())).toBe('login_required')
      await flush()
      expect(records.items.size).toBe(0)
    },
  )
})

describe('a refresh without a lock during which no read succeeds', () => {
  async function refreshUnread(elsewhere: (rig: Rig) => Promise<unknown>): Promise<Rig> {
    const rig = lossyWithoutLock()
    const { clock, here, service, state } = rig
    await here.session.signIn(service.issue())
    state.unreadable = true
    await elsewhere(rig)
    clock.advance(hour)
    expect(service.familyOf(await here.session.getAccessToken())).toBe(1)
    return rig
  }

  test('does not undo a sign-out elsewhere, and ends when a read shows it', async () => {
    const { clock, here, records, state } = await refreshUnread(({ there }) => there.session.signOut())
    expect(records.items.size).toBe(0)
    state.unreadable = false
    clock.advance(6_000)
    expect(await codeOf(here.session.getAccessToken())).toBe('login_required')
    expect(here.session.state).toEqual({ status: 'signed-out', reason: 'store_lost' })
    await flush()
    expect(records.items.size).toBe(0)
  })

  test('does not replace the record of a user who signed in elsewhere, and follows when a read shows it', async () => {
    const { clock, here, records, service, state } = await refreshUnread(({ there, service }) =>
      there.session.signIn(service.issue()),
    )
    expect(service.familyOf(String(records.record()?.refreshToken))).toBe(2)
    state.unreadable = false
    clock.advance(6_000)
    expect(await codeOf(here.session.getAccessToken())).toBe('session_changed')
    expect(service.familyOf(await here.session.getAccessToken())).toBe(2)
  })

  test('writes at once if the read before the request has succeeded', async () => {
    const { clock, here, records, service, state } = lossy()
    await here.session.signIn(service.issue())
    clock.advance(hour)
    const letGo = service.hold()
    const call = here.session.getAccessToken()
    await until(() => service.sent.length > 0)
    state.unreadable = true
    letGo()
    const token = await call
    expect(records.record()).toMatchObject({ accessToken: token, rev: 2 })
    expect(here.eventsOf('storage_degraded')).toMatchObject([{ type: 'storage_degraded', reason: 'read_failed' }])
  })
})

test('two pages end with one user if a delayed write brings back a sign-in that both have replaced', async () => {
  const { clock, service, realm } = sessionRig(undefined, { rotate: false })
  const records = sharedRecords()
  const inner = records.handle()
  const delayed: (() => unknown)[] = []
  let isDelayed = true
  const first = realm({
    storage: {
      ...inner,
      setItem(key: string, value: string) {
        if (!isDelayed) return inner.setItem(key, value)
        delayed.push(() => inner.setItem(key, value))
        throw new Error('Command timed out')
      },
    },
  })
  const second = realm({ storage: records.handle() })
  await first.session.signIn(service.issue())
  await second.session.signIn(service.issue())
  isDelayed = false
  const callBoth = async (): Promise<void> => {
    for (const { session } of [second, first]) {
      clock.advance(6_000)
      await codeOf(session.getAccessToken())
      await flush()
    }
  }
  await callBoth()
  expect(first.session.state.sessionRef).toBe(second.session.state.sessionRef)
  for (const write of delayed) await write()
  let writes = 0
  records.onChange(() => writes++)
  for (let round = 0; round < 5; round++) await callBoth()
  expect({ writes, users: new Set([first, second].map(({ session }) => session.state.sessionRef)).size }).toEqual({
    writes: 2,
    users: 1,
  })
})

test.each([
  ['no write fails', 'save', []],
  ['a save of the later one fails', 'save', ['fails']],
  ['a save of the later one fails three times', 'save', ['fails', 'fails', 'fails']],
  ['a refresh of the later one cannot be saved', 'refresh', ['fails']],
] as const)('a replaced sign-in that comes back twice is used the second time: %s', async (_, work, fates) => {
  const { clock, service, records, here, there } = lossy('good', ...fates)
  await here.session.signIn(service.issue())
  const { sessionRef } = here.session.state
  const [replaced = ''] = records.items.values()
  await there.session.signIn(service.issue())
  const comeBack = async (): Promise<void> => {
    records.put(replaced)
    await here.session.resume()
  }
  await here.session.resume()
  await comeBack()
  expect(here.session.state.sessionRef).not.toBe(sessionRef)
  await here.session.getAccessToken({ forceRefresh: work === 'refresh' })
  for (let call = 0; call < 4; call++) {
    await flush()
    clock.advance(6_000)
    await here.session.getAccessToken()
  }
  await flush()
  expect(records.record()?.id).toBe(here.session.state.sessionRef)
  await comeBack()
  expect(here.session.state.sessionRef).toBe(sessionRef)
})
