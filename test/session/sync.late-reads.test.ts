import type { Session, TokenStorage } from 'agent-auth'
import { describe, expect, test } from 'vitest'
import { setUp, tokens, turn } from '../support/one-session.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'

/** A storage of which one read can be held: it then gives what stood there when it began, or when it ends. */
function holding(moment: 'begin' | 'end') {
  const items = new Map<string, string>()
  let release: (() => void) | undefined
  const next = { held: false }
  const storage: TokenStorage = {
    getItem: async (key) => {
      const before = items.get(key)
      if (!next.held) return before
      next.held = false
      await new Promise<void>((resolve) => {
        release = resolve
      })
      return moment === 'begin' ? before : items.get(key)
    },
    setItem: async (key, value) => void items.set(key, value),
    removeItem: async (key) => void items.delete(key),
  }
  const settle = async (): Promise<void> => {
    for (let turns = 0; turns < 50; turns++) await turn()
  }
  return { storage, items, settle, holdNextRead: () => (next.held = true), release: () => release?.() }
}

describe('sign-in and sign-out', () => {
  test('a reading begun before the sign-in does not end it', async () => {
    const { storage, items, settle, holdNextRead, release } = holding('begin')
    const { session } = setUp({ storage })
    holdNextRead()
    const ready = session.ready()
    const mine = tokens()
    await session.signIn(mine)
    release()
    await ready
    await settle()
    expect(await session.getAccessToken()).toBe(mine.accessToken)
    expect(items.size).toBe(1)
  })

  test('a sign-in during the first read of a sign-out is not removed by that sign-out', async () => {
    const { storage, settle, holdNextRead, release } = holding('begin')
    const { session } = setUp({ storage })
    await session.signIn(tokens())
    holdNextRead()
    const mine = tokens()
    const both = Promise.all([session.signOut(), session.signIn(mine)])
    await settle()
    release()
    await both
    expect(await codeOf(setUp({ storage }).session.getAccessToken())).toEqual({ resolved: mine.accessToken })
  })

  test('a listener of events finds the session ended, and may sign out again', async () => {
    const seen: string[] = []
    let session: Session | undefined
    const rig = setUp({
      onEvent: (event) => {
        if (event.type !== 'session_ended') return
        seen.push(session?.state.status ?? '')
        session?.signOut().catch(() => {})
      },
    })
    session = rig.session
    await session.signIn(tokens())
    await session.signOut()
    await turn()
    expect(seen).toEqual(['signed-out'])
  })

  test('the rejection of an asynchronous listener reaches no other code', async () => {
    const { session } = setUp({ onEvent: () => Promise.reject(new Error('listener')) as unknown as undefined })
    await session.signIn(tokens())
    await session.signOut()
    await turn()
    expect(session.state.status).toBe('signed-out')
  })

  test.each([{ refreshToken: null }, { expiresAtMs: Number.NaN }, { expiresAtMs: Number.POSITIVE_INFINITY }])(
    'tokens that no later start could read back are not taken: %j',
    async (members) => {
      const { session } = setUp()
      const good = tokens()
      const kept = session.signIn(good)
      const bad = { ...tokens(), ...members } as unknown as typeof good
      await expect(session.signIn(bad)).rejects.toMatchObject({ code: 'response_invalid' })
      await kept
      expect(await session.getAccessToken()).toBe(good.accessToken)
    },
  )
})

test('a read that began before the session ended changes nothing after it, and no further read follows', async () => {
  const { storage, items, settle, holdNextRead, release } = holding('begin')
  const operations: string[] = []
  const noted: TokenStorage = {
    ...storage,
    getItem(key) {
      operations.push('getItem')
      return storage.getItem(key)
    },
  }
  const { realm, service } = sessionRig()
  const { session } = realm({ storage: noted })
  await session.signIn(service.issue())
  const answer = service.hold()
  const call = codeOf(session.getAccessToken({ forceRefresh: true }))
  await settle()
  holdNextRead()
  const resumed = session.resume()
  await settle()
  // Another process signs out, which the refresh sees before the reading ends.
  items.clear()
  answer()
  expect(await call).toBe('login_required')
  operations.length = 0
  release()
  await resumed
  await settle()
  expect({ operations, state: session.state }).toEqual({
    operations: [],
    state: { status: 'signed-out', reason: 'store_lost' },
  })
})

describe('the age of a reading', () => {
  test('counts from its beginning, so that a machine which slept in between asks again', async () => {
    const { storage, items, settle, holdNextRead, release } = holding('begin')
    const { clock, realm, service } = sessionRig()
    const { session } = realm({ storage })
    await session.signIn(service.issue())
    clock.advance(1_000)
    holdNextRead()
    const first = session.getAccessToken()
    await settle()
    // Another process signs out.
    items.clear()
    clock.advance(900)
    release()
    expect(await first).toMatch(/./)
    clock.advance(100)
    await expect(session.getAccessToken()).rejects.toMatchObject({ code: 'login_required' })
  })
})
