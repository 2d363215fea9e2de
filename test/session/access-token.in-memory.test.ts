import { createBearerFetch, memoryStorage, type Session, type TokenStorage } from 'agent-auth'
import { expect, test, vi } from 'vitest'
import { sessionName } from '../../src/session/record.ts'
import { type ApiStub, apiStub } from '../support/api-stub.ts'
import { sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'

// The bearer fetch takes the token of a session from memory, without `getAccessToken`, unless that would wait or reject.

const baseUrl = 'https://api.example.com'
const url = `${baseUrl}/api/parent_agents`
const hour = 3_600_000

function bearer(session: Session): { send: typeof fetch; api: ApiStub } {
  const api = apiStub(() => new Response())
  return { send: createBearerFetch(session, { baseUrl, fetch: api.fetch }), api }
}

test('each request calls the getAccessToken that an app puts in the place of the session’s own', async () => {
  const { service, realm } = sessionRig()
  const { session } = realm()
  await session.signIn(service.issue())
  const { send, api } = bearer(session)
  const { getAccessToken } = session
  let calls = 0
  session.getAccessToken = (options) => {
    calls++
    return getAccessToken(options)
  }
  await send(url)
  await send(url)
  expect({ calls, requests: api.calls.length }).toEqual({ calls: 2, requests: 2 })
})

test('a spy in the place of getAccessToken is called, although it has the members of the function', async () => {
  const { service, realm } = sessionRig()
  const { session } = realm()
  await session.signIn(service.issue())
  const { send, api } = bearer(session)
  const spy = vi.spyOn(session, 'getAccessToken').mockResolvedValue('token-of-the-test')
  await send(url)
  expect({ calls: spy.mock.calls.length, sent: api.authorizations }).toEqual({
    calls: 1,
    sent: ['Bearer token-of-the-test'],
  })
})

test('a request with a valid token in memory is sent at once, without a wait for a promise', async () => {
  const { service, realm } = sessionRig()
  const { session } = realm()
  const tokens = service.issue()
  await session.signIn(tokens)
  const { send, api } = bearer(session)
  const response = send(url)
  expect(api.authorizations).toEqual([`Bearer ${tokens.accessToken}`])
  await response
})

test('an expired token is refreshed before the request is sent', async () => {
  const { clock, service, realm } = sessionRig()
  const { session } = realm()
  await session.signIn(service.issue())
  clock.advance(hour)
  const { send, api } = bearer(session)
  await send(url)
  expect(service.sent).toHaveLength(1)
  expect(api.authorizations).toEqual([`Bearer ${await session.getAccessToken()}`])
})

test('another user who signed in through the same synchronous storage gets no request of this user', async () => {
  const { service, realm } = sessionRig()
  const storage = memoryStorage()
  const [here, there] = [realm({ storage }), realm({ storage })]
  await here.session.signIn(service.issue())
  const { send, api } = bearer(here.session)
  await send(url)
  const tokens = service.issue()
  await there.session.signIn(tokens)
  await expect(send(url)).rejects.toMatchObject({ code: 'session_changed' })
  expect(api.calls).toHaveLength(1)
  await send(url)
  expect(api.authorizations[1]).toBe(`Bearer ${tokens.accessToken}`)
})

test('a sign-out through the same synchronous storage is login_required at the next request', async () => {
  const { service, realm } = sessionRig()
  const storage = memoryStorage()
  const [here, there] = [realm({ storage }), realm({ storage })]
  await here.session.signIn(service.issue())
  await there.session.ready()
  const { send, api } = bearer(here.session)
  await there.session.signOut()
  await expect(send(url)).rejects.toMatchObject({ code: 'login_required' })
  expect(api.calls).toEqual([])
})

test('a request of a user whose sign-out was found is not sent as the user who signs in while listeners run', async () => {
  const { service, realm } = sessionRig()
  const storage = memoryStorage()
  const [here, there] = [realm({ storage }), realm({ storage })]
  await there.session.signIn(service.issue())
  const name = sessionName(there.config, 'default')
  const ofB = await storage.getItem(name)
  await there.session.signOut()
  await here.session.signIn(service.issue())
  const { send, api } = bearer(here.session)
  await storage.removeItem(name)
  here.session.subscribe(() => void storage.setItem(name, String(ofB)))
  await expect(send(url)).rejects.toMatchObject({ code: 'login_required' })
  expect(api.calls).toEqual([])
  expect((await here.session.ready()).status).toBe('signed-in')
})

test('a sign-out elsewhere is seen once an asynchronous storage is read again, a second later', async () => {
  const { clock, service, realm } = sessionRig()
  const { handle } = sharedRecords()
  const [here, there] = [realm({ storage: handle({ step: async () => {} }) }), realm({ storage: handle() })]
  await here.session.signIn(service.issue())
  await there.session.ready()
  const { send, api } = bearer(here.session)
  await send(url)
  await there.session.signOut()
  clock.advance(1_000)
  await expect(send(url)).rejects.toMatchObject({ code: 'login_required' })
  expect(api.calls).toHaveLength(1)
})

test('a request repeats the write that is pending', async () => {
  const { clock, service, realm } = sessionRig()
  const inner = memoryStorage()
  let writes: 'fail' | 'succeed' = 'fail'
  const storage: TokenStorage = {
    ...inner,
    setItem(key, value) {
      if (writes === 'fail') throw new Error('the disk is full')
      return inner.setItem(key, value)
    },
  }
  const { session } = realm({ storage })
  const tokens = service.issue()
  await session.signIn(tokens)
  writes = 'succeed'
  clock.advance(60_000)
  await bearer(session).send(url)
  const later = realm({ storage: inner }).session
  await expect.poll(async () => (await later.ready()).status).toBe('signed-in')
  expect(await later.getAccessToken()).toBe(tokens.accessToken)
})
