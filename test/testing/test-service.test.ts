import { createAuthConfig, createSession, memoryStorage, readCallback, type Session, startLogin } from 'agent-auth'
import { createBackend } from 'agent-auth/backend'
import { holdRequests, signedInCookie, type TestService, testService } from 'agent-auth/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { codeOf } from '../support/session-rig.ts'

const hourMs = 3_600_000
const models = '/api/llm_models/search'
const json = { 'content-type': 'application/json' }
const search = ({ fetch }: TestService): Promise<Response> =>
  fetch(models, { method: 'POST', headers: json, body: '{}' })

const service = await testService({ after: afterAll })
const subject = (session: Session): string | undefined => session.claims?.subject

function refreshesOf({ dev }: TestService): number {
  const entries = dev.journal() as readonly { grantType?: string }[]
  return entries.filter(({ grantType }) => grantType === 'refresh_token').length
}

describe('testService', () => {
  test('in process has origins that no other service can have, so that a plain fetch fails', async () => {
    for (const url of [service.authUrl, service.baseUrl])
      await expect(fetch(url)).rejects.toMatchObject({ message: 'fetch failed', cause: { message: 'bad port' } })
  })

  test('gives a session that is signed in, and a fetch with its token', async () => {
    expect(service.session.state.status).toBe('signed-in')
    expect((await search(service)).status).toBe(200)
    expect((await service.send(`${service.baseUrl}${models}`, { method: 'POST' })).status).toBe(401)
  })

  test('moves the clock of the service and of the session together, as often as a test wants', async () => {
    const before = refreshesOf(service)
    for (let round = 0; round < 3; round++) {
      service.advance(hourMs)
      expect((await search(service)).status).toBe(200)
    }
    expect(refreshesOf(service) - before).toBe(3)
    expect(service.clock.wallMs()).toBeGreaterThan(Date.now() + 2 * hourMs)
  })

  test('holds requests, so that a test can act while they are in progress', async () => {
    service.advance(hourMs)
    const held = service.hold('/auth/v1/token')
    const call = codeOf(service.session.getAccessToken())
    await held.arrived()
    const leaving = service.session.signOut()
    held.release()
    await leaving
    expect(await call).toMatchObject(expect.stringMatching(/login_required|session_ended|session_changed/))
    expect(service.session.state.status).toBe('signed-out')
    await service.signIn()
    expect((await search(service)).status).toBe(200)
  })

  test('signs in another user, and back, also in parallel', async () => {
    const first = subject(service.session)
    const [rui, ada] = await Promise.all([service.login('rui@demo.example'), service.login()])
    await service.session.signIn(rui)
    expect(subject(service.session)).not.toBe(first)
    await service.session.signIn(ada)
    expect(subject(service.session)).toBe(first)
    const seen = ['rui@demo.example', service.email].map((email) =>
      service.approving(email, async () => {
        await Promise.resolve()
        return service.dev.autoApproved()
      }),
    )
    expect(await Promise.all(seen)).toEqual(['rui@demo.example', service.email])
    expect(service.dev.autoApproved()).toBeUndefined()
  })

  test('denies as a user, and knows the password of each one', async () => {
    const { url, pending } = await startLogin(service.config)
    const callback = await service.denying('rui@demo.example', async () => {
      const { headers } = await service.send(url, { redirect: 'manual' })
      return headers.get('location') ?? ''
    })
    expect(() => readCallback(pending, callback)).toThrow(expect.objectContaining({ code: 'login_denied' }))
    expect(service.dev.journal()).toContainEqual(expect.objectContaining({ event: 'consent_denied', tenant: 'demo' }))
    expect(await service.login('rui@demo.example')).toHaveProperty('accessToken')
    const people = [
      { email: 'own@team.example', password: 'correct horse battery staple' },
      { email: 'two@team.example' },
    ]
    const clients = [{ name: 'Team', redirectUris: ['https://app.example/callback'] }]
    const seed = { tenants: [{ id: 'team' }], people, clients }
    await using(testService({ service: { seed } }), async (own) => {
      expect(own.people.map(({ email, password }) => [email, password.length])).toEqual([
        ['own@team.example', 28],
        ['two@team.example', 43],
      ])
    })
  })

  test('makes requests fail with the faults of the service', async () => {
    service.dev.addFault({ match: { path: models }, effect: { status: 503 }, times: 1 })
    expect((await search(service)).status).toBe(503)
    expect((await search(service)).status).toBe(200)
    await service.dev.revokeRefreshTokens()
    service.advance(hourMs)
    expect(await codeOf(service.session.getAccessToken())).toBe('session_ended')
    await service.signIn()
  })

  test('listens on loopback for other processes, with the options of their apps and a shared storage', async () => {
    const storage = memoryStorage()
    await using(testService({ transport: 'loopback', storage }), async (listening) => {
      const other = createSession(createAuthConfig(listening.options), { storage })
      expect(await other.getAccessToken()).toBe(await listening.session.getAccessToken())
      expect((await search(listening)).status).toBe(200)
      expect((await fetch(`${listening.baseUrl}/openapi.json`)).status).toBe(200)
    })
  })

  test('signs in to a backend without a browser', async () => {
    await using(testService({ client: 'confidential' }), async (confidential) => {
      const secrets = ['a-secret-of-this-test-that-is-long-enough']
      const backend = createBackend({ ...confidential.options, sessions: memoryStorage(), secrets })
      const origin = new URL(confidential.options.redirectUri).origin
      const cookie = await signedInCookie(backend.handle, { service: confidential })
      const request = (headers: HeadersInit): Request => new Request(`${origin}/page`, { headers })
      expect((await backend.getSession(request({ cookie }))).status).toBe('signed-in')
      expect((await backend.getSession(request({}))).status).toBe('signed-out')
      const refused = signedInCookie(backend.handle, { service: confidential, email: 'ola@other.example' })
      await expect(refused).rejects.toMatchObject({ code: 'config_invalid' })
      const asFetch = (request: Request): ReturnType<typeof backend.handle> => {
        const headers = new Headers(request.headers)
        headers.set('sec-fetch-mode', 'cors')
        return backend.handle(new Request(request.url, { headers }))
      }
      await expect(signedInCookie(asFetch, { service: confidential })).rejects.toMatchObject({
        message: expect.stringContaining('pass backend.handle'),
      })
      const lost = signedInCookie(backend.handle, { service: confidential, loginUrl: `${origin}/login` })
      await expect(lost).rejects.toMatchObject({ message: expect.stringContaining('Set loginUrl') })
    })
  })

  test('has no cookie of a backend whose callback failed, also if the login could be finished later', async () => {
    await using(testService({ client: 'confidential' }), async (confidential) => {
      const down = (): never => {
        throw new Error('down')
      }
      const secrets = ['a-secret-of-this-test-that-is-long-enough']
      const sessions = { ...memoryStorage(), getItem: down, withLock: down }
      const backend = createBackend({ ...confidential.options, sessions, secrets, onEvent() {} })
      await expect(signedInCookie(backend.handle, { service: confidential })).rejects.toMatchObject({
        code: 'config_invalid',
        message: expect.stringContaining('the callback of the backend responded with 503'),
      })
    })
  })

  test.each([
    [{ transports: 'loopback' }, /transports/],
    [{ transport: 'http' }, /in-process or loopback/],
    [{ client: 'secret' }, /no secret client/],
    [{ email: 'ghost@demo.example' }, /email is no user/],
  ])('refuses %j with a message that names it', async (options, message) => {
    const call = testService(options as object)
    await expect(call).rejects.toMatchObject({ code: 'config_invalid', message: expect.stringMatching(message) })
  })

  test('refuses a user whom the service does not let in, and says how it responded', async () => {
    await expect(service.login('ola@other.example')).rejects.toMatchObject({ code: 'login_failed' })
    service.dev.addFault({ match: { path: '/auth/v1/authorize' }, effect: { status: 503 }, times: 1 })
    const message = expect.stringContaining('it responded with 503')
    await expect(service.login()).rejects.toMatchObject({ code: 'config_invalid', message })
    await expect(service.login('ghost@demo.example')).rejects.toThrow('no account has this email address')
    expect(service.dev.autoApproved()).toBeUndefined()
    expect(await service.login()).toHaveProperty('accessToken')
  })
})

describe('holdRequests', () => {
  const answer: typeof fetch = async () => Response.json({})

  test('holds the requests of a path until they are released, and no others', async () => {
    const held = holdRequests(answer, '/token')
    expect((await held.fetch('https://example.com/api')).status).toBe(200)
    const calls = [held.fetch('https://example.com/token'), held.fetch(new Request('https://example.com/token/2'))]
    await held.arrived(2)
    expect(await Promise.race([...calls, 'waiting'])).toBe('waiting')
    held.release()
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200])
    expect((await held.fetch('https://example.com/token')).status).toBe(200)
  })

  test('rejects a held request with the reason of its signal', async () => {
    const held = holdRequests(answer)
    const stop = new AbortController()
    const call = held.fetch('https://example.com/', { signal: stop.signal })
    await held.arrived()
    stop.abort('left')
    expect(await call.catch((reason: unknown) => reason)).toBe('left')
    const late = held.fetch('https://example.com/', { signal: stop.signal })
    expect(await late.catch((reason: unknown) => reason)).toBe('left')
  })
})

async function using(starting: Promise<TestService>, work: (service: TestService) => Promise<void>): Promise<void> {
  const started = await starting
  try {
    await work(started)
  } finally {
    await started.close()
  }
}
