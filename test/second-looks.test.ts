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
import { testClock } from './support/clock.ts'

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

  test('C-074 I5 two sign-outs on their way end nothing of the sign-in after them', async () => {
    const { storage, items, settle, holdNextRead, release } = holding('end')
    const { session } = setUp({ storage })
    await session.signIn(tokens())
    holdNextRead()
    const mine = tokens()
    const all = Promise.allSettled([session.signOut(), session.signOut(), session.signIn(mine)])
    await settle()
    release()
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

describe('two tabs over one record', () => {
  /** A token endpoint that knows which refresh tokens are good; the first one may be used by both tabs. */
  function tabs(first: TokenStorage, second: TokenStorage, reuse: 'once' | 'twice') {
    const clock = testClock()
    const start = { ...tokens(), obtainedAtMs: clock.wallMs(), expiresAtMs: clock.wallMs() + 3_600_000 }
    let good = [start.refreshToken]
    const fetch = async (_url: unknown, init?: RequestInit): Promise<Response> => {
      const { refresh_token: sent } = JSON.parse(String(init?.body)) as { refresh_token: string }
      if (!good.includes(sent)) return Response.json({ error: 'invalid_grant' }, { status: 400 })
      const next = secret('refresh')
      good = sent === start.refreshToken && reuse === 'twice' ? [sent, next] : [next]
      return Response.json({ access_token: secret('access'), refresh_token: next, expires_in: 3_600 })
    }
    const base = { authUrl: 'https://auth.example.com', baseUrl, clientId: 'app' }
    const config = createAuthConfig({ ...base, redirectUri: 'https://app.example.com/callback', clock, fetch })
    const [one, two] = [createSession(config, { storage: first }), createSession(config, { storage: second })]
    return { clock, start, one, two }
  }

  test('C-078 C-079 a refusal that cannot be checked against the storage ends nobody', async () => {
    const inner = memoryStorage()
    let failing = false
    const flaky: TokenStorage = {
      ...inner,
      getItem: (key) => {
        if (failing) throw new Error('unreadable')
        return inner.getItem(key)
      },
    }
    const { clock, start, one, two } = tabs(flaky, inner, 'once')
    await one.signIn(start)
    await two.ready()
    clock.advance(3_600_000)
    const winner = await two.getAccessToken()
    failing = true
    await expect(one.getAccessToken()).rejects.toMatchObject({ code: 'storage_failed', retryable: true })
    failing = false
    expect(await two.getAccessToken()).toBe(winner)
    clock.advance(60_000)
    expect(await one.getAccessToken()).toBe(winner)
  })

  test('C-078 I5 two refreshes that both became revision 2 are told apart', async () => {
    const items = new Map<string, string>()
    let held: (() => void) | undefined
    const handle = (slow: 'slow' | 'quick'): TokenStorage => ({
      getItem: async (key) => items.get(key),
      setItem: async (key, value) => {
        if (slow === 'slow' && items.size > 0) await new Promise<void>((resolve) => (held = resolve))
        items.set(key, value)
      },
      removeItem: async (key) => void items.delete(key),
    })
    const { clock, start, one, two } = tabs(handle('quick'), handle('slow'), 'twice')
    await one.signIn(start)
    await two.ready()
    clock.advance(3_600_000)
    const late = two.getAccessToken()
    while (!held) await turn()
    await one.getAccessToken()
    held()
    const kept = await late
    clock.advance(2_000)
    expect(await one.getAccessToken()).toBe(kept)
  })
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
