import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import type * as config from '../../src/config.ts'
import type { AuthEvent } from '../../src/events.ts'
import { createSession } from '../../src/session.ts'
import { memoryStorage } from '../../src/storage/memory.ts'
import type { TokenStorage } from '../../src/storage/token-storage.ts'
import { optionsWith, tokensWith } from '../support/token-flow.ts'

// A program of Node without onEvent, whose storage fails. A sign-in over such a storage rejects.

// As it is, because the setup of the tests replaces it by one that always has a listener.
const { createAuthConfig } = await vi.importActual<typeof config>('../../src/config.ts')

afterEach(() => vi.restoreAllMocks())

const failing = (): TokenStorage => ({
  ...memoryStorage(),
  setItem: () => Promise.reject(new Error('disk full')),
})

function warnings(): unknown[][] {
  return vi.spyOn(process, 'emitWarning').mockImplementation(() => {}).mock.calls
}

it('without onEvent, the first failure of a storage is a warning of the process, and later ones are not', async () => {
  const seen = warnings()
  const config = createAuthConfig({ ...optionsWith(), onEvent: undefined })
  for (const key of ['a', 'b'])
    await createSession(config, { storage: failing(), key })
      .signIn(tokensWith())
      .catch(() => {})
  expect(seen).toEqual([
    ['agent-auth: storage_degraded: The storage failed or did not respond in time. Check the storage, then try again.'],
  ])
})

it('with onEvent, or while the storage works, there is no warning', async () => {
  const seen = warnings()
  const events: AuthEvent[] = []
  const heard = createAuthConfig({ ...optionsWith(), onEvent: (event) => void events.push(event) })
  await createSession(heard, { storage: failing() })
    .signIn(tokensWith())
    .catch(() => {})
  await createSession(createAuthConfig(optionsWith())).signIn(tokensWith())
  expect(events.map(({ type }) => type)).toContain('storage_degraded')
  expect(seen).toEqual([])
})

it.each([undefined, {}])('in a page, whose process is %j, a storage that fails gives no warning', async (own) => {
  const seen = warnings()
  vi.stubGlobal('process', own)
  onTestFinished(() => void vi.unstubAllGlobals())
  const config = createAuthConfig(optionsWith())
  vi.unstubAllGlobals()
  const session = createSession(config, { storage: failing() })
  await expect(session.signIn(tokensWith())).rejects.toMatchObject({ code: 'storage_failed' })
  expect({ status: session.state.status, seen }).toEqual({ status: 'signed-out', seen: [] })
})
