import { createAuthConfig, createSession, type TokenStorage } from 'agent-auth'
import { describe, expect, test } from 'vitest'
import { secret } from '../support/canary.ts'
import { testClock } from '../support/clock.ts'
import { baseUrl, tokens } from '../support/one-session.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { until } from '../support/until.ts'
import { flush } from '../support/virtual-time.ts'

describe('two tabs over one record', () => {
  /** A token endpoint that knows which refresh tokens are good; the first one may be used by both tabs. */
  function tabs(first: TokenStorage, second: TokenStorage) {
    const clock = testClock()
    const start = { ...tokens(), obtainedAtMs: clock.wallMs(), expiresAtMs: clock.wallMs() + 3_600_000 }
    let good = [start.refreshToken]
    const fetch = async (_url: unknown, init?: RequestInit): Promise<Response> => {
      const { refresh_token: sent } = JSON.parse(String(init?.body)) as { refresh_token: string }
      if (!good.includes(sent)) return Response.json({ error: 'invalid_grant' }, { status: 400 })
      const next = secret('refresh')
      good = sent === start.refreshToken ? [sent, next] : [next]
      return Response.json({ access_token: secret('access'), refresh_token: next, expires_in: 3_600 })
    }
    const base = { authUrl: 'https://auth.example.com', baseUrl, clientId: 'app' }
    const config = createAuthConfig({ ...base, redirectUri: 'https://app.example.com/callback', clock, fetch })
    const [one, two] = [createSession(config, { storage: first }), createSession(config, { storage: second })]
    return { clock, start, one, two }
  }

  test('two tabs whose refreshes both wrote revision 2 end with the token that is stored', async () => {
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
    const { clock, start, one, two } = tabs(handle('quick'), handle('slow'))
    await one.signIn(start)
    await two.ready()
    clock.advance(3_600_000)
    const late = two.getAccessToken()
    await until(() => held !== undefined)
    await one.getAccessToken()
    held?.()
    const kept = await late
    clock.advance(2_000)
    expect(await one.getAccessToken()).toBe(kept)
  })
})

test.each(['signIn', 'signOut'] as const)(
  'a refresh that %s cancels sends a token that no other tab sends',
  async (how) => {
    const { clock, service, realm } = sessionRig()
    const records = sharedRecords()
    const removals: (() => void)[] = []
    const step = (operation: string): Promise<void> =>
      new Promise((go) => {
        if (operation === 'removeItem') removals.push(go)
        else go()
      })
    const here = realm({ storage: records.handle({ step }) })
    const there = realm({ storage: records.handle() })
    await here.session.signIn(service.issue())
    await there.session.ready()
    clock.advance(3_600_000)
    const release = service.hold()
    const refreshes = [codeOf(here.session.getAccessToken())]
    await flush()
    refreshes.push(codeOf(there.session.getAccessToken()))
    await flush()
    const done = how === 'signIn' ? here.session.signIn(service.issue()) : here.session.signOut()
    await flush()
    expect(service.sent).toHaveLength(1)
    for (const remove of removals) remove()
    release()
    await Promise.all([done, ...refreshes])
    expect(service.sent).toHaveLength(1)
    clock.advance(1_000)
    await codeOf(there.session.getAccessToken())
    expect(there.session.state.sessionRef).toBe(here.session.state.sessionRef)
  },
)
