import { exchangeCode, memoryStorage, pendingLogins, readCallback, startLogin } from 'agent-auth'
import { testService } from 'agent-auth/testing'
import { afterAll, expect, test } from 'vitest'
import { codeOf } from '../support/session-rig.ts'

const service = await testService({ after: afterAll })

/** Starts a login whose pending record goes into this storage, and returns the callback of the service. */
async function callbackOf(storage: ReturnType<typeof memoryStorage>): Promise<string> {
  const { url, pending } = await startLogin(service.config, { returnTo: '/agents?page=2' })
  await pendingLogins(storage).save(pending)
  const response = await service.approving(service.email, () => service.send(url, { redirect: 'manual' }))
  return response.headers.get('location') ?? ''
}

test('a login finishes in another client that shares the storage of pending logins', async () => {
  const shared = memoryStorage()
  const callback = await callbackOf(shared)
  const pending = await pendingLogins(shared).take(callback)
  expect(pending.returnTo).toBe('/agents?page=2')
  const tokens = await exchangeCode(service.config, readCallback(pending, callback))
  await service.session.signIn(tokens)
  expect(service.session.state.status).toBe('signed-in')
})

test('where nothing is shared the callback is flow_not_found, changes nothing, and the next login works', async () => {
  const elsewhere = memoryStorage()
  const callback = await callbackOf(memoryStorage())
  const { state } = service.session
  const failure = await pendingLogins(elsewhere)
    .take(callback)
    .catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: 'flow_not_found', message: expect.stringMatching(/elsewhere.*Sign in again/) })
  expect(service.session.state).toBe(state)
  const next = await callbackOf(elsewhere)
  const pending = await pendingLogins(elsewhere).take(next)
  expect(await exchangeCode(service.config, readCallback(pending, next))).toHaveProperty('refreshToken')
  expect(await codeOf(pendingLogins(elsewhere).take(next))).toBe('already_handled')
})
