import { memoryStorage, type TokenStorage } from 'agent-auth'
import { describe, expect, it } from 'vitest'
import { gate } from '../support/gate.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { tokensWith } from '../support/token-flow.ts'
import { flush } from '../support/virtual-time.ts'

/** A storage that answers with promises, and holds back its answers while `pause` says so. */
function asyncStorage(): TokenStorage & { reads: number; pause: Promise<void> | undefined } {
  const inner = memoryStorage()
  const storage: TokenStorage & { reads: number; pause: Promise<void> | undefined } = {
    reads: 0,
    pause: undefined,
    async getItem(key) {
      storage.reads++
      const { pause } = storage
      const item = await inner.getItem(key)
      await pause
      return item
    },
    setItem: async (key, value) => inner.setItem(key, value),
    removeItem: async (key) => inner.removeItem(key),
    withLock: (name, task, options) => (inner as Required<TokenStorage>).withLock(name, task, options),
  }
  return storage
}

describe('resume', () => {
  it('sees a sign-out elsewhere at once, where a call would trust its last look for a second', async () => {
    const rig = sessionRig()
    const storage = asyncStorage()
    const [here, there] = [rig.realm({ storage }), rig.realm({ storage })]
    await here.session.signIn(tokensWith())
    await there.session.ready()
    await here.session.signOut()
    await there.session.getAccessToken()
    expect(there.session.state.status).toBe('signed-in')
    // This is the default.
    await there.session.resume({ after: 'change' })
    expect(there.session.state).toEqual({ status: 'signed-out', reason: 'store_lost' })
  })

  it('does not rest on a reading that began before what it was called for', async () => {
    const rig = sessionRig()
    const storage = asyncStorage()
    const [here, there] = [rig.realm({ storage }), rig.realm({ storage })]
    await here.session.signIn(tokensWith())
    await there.session.ready()
    rig.clock.advance(2_000)
    const reading = gate()
    storage.pause = reading.passed
    const early = there.session.getAccessToken()
    storage.pause = undefined
    await here.session.signOut()
    const resumed = there.session.resume()
    await flush()
    reading.open()
    await Promise.allSettled([early, resumed])
    expect(there.session.state.status).toBe('signed-out')
  })

  it('lets the next call send at once, which the schedule would hold back', async () => {
    const rig = sessionRig()
    let isDown = true
    let sent = 0
    const fetch: typeof globalThis.fetch = async (input, init) => {
      sent++
      if (isDown)
        throw Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNREFUSED', syscall: 'connect' } })
      return rig.service.fetch(input, init)
    }
    const { session } = rig.realm({ options: { fetch } })
    await session.signIn(rig.service.issue())
    rig.clock.advance(7_200_000)
    expect(await codeOf(session.getAccessToken())).toBe('temporarily_unavailable')
    isDown = false
    expect(await codeOf(session.getAccessToken())).toBe('temporarily_unavailable')
    expect(sent).toBe(1)
    await session.resume()
    expect(await codeOf(session.getAccessToken())).toEqual({ resolved: expect.any(String) })
    expect(sent).toBe(2)
  })
})
