import {
  type AuthEvent,
  createAuthConfig,
  createBearerFetch,
  createSession,
  memoryStorage,
  refreshTokens,
  type Session,
  type TokenStorage,
} from 'agent-auth'
import { describe, expect, test } from 'vitest'
import { secret } from './support/canary.ts'

const baseUrl = 'https://api.example.com'

function setUp(
  options: { storage?: TokenStorage; answer?: () => Response; onEvent?: (event: AuthEvent) => void } = {},
) {
  let refreshes = 0
  const config = createAuthConfig({
    authUrl: 'https://auth.example.com',
    baseUrl,
    clientId: 'app',
    redirectUri: 'https://app.example.com/callback',
    timeoutMs: 1_000,
    fetch: async () => {
      refreshes++
      return (
        options.answer?.() ?? Response.json({ access_token: secret('access token'), refresh_token: secret('refresh') })
      )
    },
    onEvent: options.onEvent,
  })
  const session = createSession(config, { storage: options.storage })
  return { config, session, refreshes: () => refreshes }
}

const tokens = () => ({ accessToken: secret('access'), refreshToken: secret('refresh'), obtainedAtMs: Date.now() })
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A storage whose operations end only when they are let go, in order. */
function gated(): { storage: TokenStorage; items: Map<string, string>; open(): Promise<void> } {
  const items = new Map<string, string>()
  let waiting: (() => void)[] = []
  const wait = (): Promise<void> => new Promise((resolve) => waiting.push(resolve))
  const open = async (): Promise<void> => {
    for (let idle = 0; idle < 3; ) {
      const ready = waiting
      waiting = []
      for (const go of ready) go()
      idle = ready.length > 0 ? 0 : idle + 1
      await turn()
    }
  }
  const storage: TokenStorage = {
    getItem: async (key) => wait().then(() => items.get(key)),
    setItem: async (key, value) => wait().then(() => void items.set(key, value)),
    removeItem: async (key) => wait().then(() => void items.delete(key)),
  }
  return { storage, items, open }
}

describe('the lock', () => {
  test('C-072 I1 a waiter that gives up does not let the next one in beside the holder', async () => {
    const storage = memoryStorage()
    let inside = 0
    let most = 0
    let release = (): void => {}
    const task = async (): Promise<void> => {
      most = Math.max(most, ++inside)
      await new Promise<void>((resolve) => {
        release = resolve
      })
      inside--
    }
    const holder = storage.withLock?.('x', task)
    const giveUp = new AbortController()
    const waiter = storage.withLock?.('x', task, { signal: giveUp.signal }).catch((error: unknown) => error)
    giveUp.abort()
    expect(await waiter).toMatchObject({ code: 'aborted' })
    const third = storage.withLock?.('x', task)
    await turn()
    expect(inside).toBe(1)
    release()
    await holder
    await turn()
    release()
    await third
    expect(most).toBe(1)
  })
})

describe('sign-in and sign-out', () => {
  test('C-074 I5 a reading begun before the sign-in does not end it', async () => {
    const { storage, items, open } = gated()
    const { session } = setUp({ storage })
    const ready = session.ready()
    const mine = tokens()
    const signedIn = session.signIn(mine)
    await open()
    await Promise.all([ready, signedIn])
    const call = session.getAccessToken()
    await open()
    expect(await call).toBe(mine.accessToken)
    expect(items.size).toBe(1)
  })

  test('C-074 I5 two sign-outs on their way end nothing of the sign-in after them', async () => {
    const { storage, items, open } = gated()
    const { session } = setUp({ storage })
    const first = session.signIn(tokens())
    await open()
    await first
    const mine = tokens()
    const all = Promise.allSettled([session.signOut(), session.signOut(), session.signIn(mine)])
    await open()
    await all
    expect(session.state.status).toBe('signed-in')
    expect([...items.values()].join()).toContain(mine.accessToken)
  })

  test('C-067 C-088 a listener of events finds the session ended, and may sign out again', async () => {
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

  test('C-064 what an asynchronous listener rejects with is nobody else’s problem', async () => {
    const { session } = setUp({ onEvent: () => Promise.reject(new Error('listener')) as unknown as undefined })
    await session.signIn(tokens())
    await session.signOut()
    await turn()
    expect(session.state.status).toBe('signed-out')
  })

  test.each([{ refreshToken: null }, { expiresAtMs: Number.NaN }, { expiresAtMs: Number.POSITIVE_INFINITY }])(
    'C-057 tokens that no later start could read back are not taken: %j',
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

describe('the bearer fetch', () => {
  test('C-102 settings the caller uses again, changed, go out as they were at each call', async () => {
    const { session } = setUp()
    await session.signIn(tokens())
    const sent: unknown[] = []
    const call = createBearerFetch(session, {
      baseUrl,
      fetch: async (_input, init) => {
        sent.push(init?.body)
        return new Response()
      },
    })
    const init: RequestInit = { method: 'POST' }
    const calls = ['one', 'two', 'three'].map((body) => call(baseUrl, Object.assign(init, { body })))
    await Promise.all(calls)
    expect(sent).toEqual(['one', 'two', 'three'])
  })

  test('C-090 I6 a Request that shows another URL than the one it goes to gets no token', async () => {
    const { session } = setUp()
    await session.signIn(tokens())
    class Disguised extends Request {
      override get url(): string {
        return `${baseUrl}/agents`
      }
    }
    const seen: (string | null)[] = []
    const call = createBearerFetch(session, {
      baseUrl,
      fetch: async (input, init) => {
        seen.push(new Request(input, init).headers.get('authorization'))
        return new Response()
      },
    })
    await call(new Disguised('https://evil.example.org/'))
    expect(seen).toEqual([null])
  })
})

test('C-037 C-049 chunks without a byte do not hold the process', async () => {
  const body = (): ReadableStream<Uint8Array> =>
    new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(0)) })
  const answer = (): Response => new Response(body(), { headers: { 'content-type': 'application/json' } })
  const { config } = setUp({ answer })
  await expect(refreshTokens(config, tokens())).rejects.toMatchObject({ code: 'response_too_large' })
})
