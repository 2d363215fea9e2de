import { isAgentAuthError } from 'agent-auth'
import { testService } from 'agent-auth/testing'
import { afterAll, expect, test } from 'vitest'

const service = await testService({ after: afterAll })
const codeOf = (error: unknown): unknown => (isAgentAuthError(error) ? error.code : error)

test('an overloaded service ends no session', async () => {
  service.advance(3_600_000)
  service.dev.addFault({ match: { path: '/auth/v1/token' }, effect: { status: 429 } })
  expect(await service.session.getAccessToken().catch(codeOf)).toBe('temporarily_unavailable')
  service.dev.clearFaults()
  service.advance(60_000)
  expect(await service.session.getAccessToken()).toEqual(expect.any(String))
})

test('a sign-out takes precedence over a refresh in progress', async () => {
  service.advance(3_600_000)
  const held = service.hold('/auth/v1/token')
  const token = service.session.getAccessToken().catch(codeOf)
  await held.arrived()
  const leaving = service.session.signOut()
  held.release()
  await leaving
  expect(await token).toBe('login_required')
  await service.signIn()
})

test('a session that the service has revoked ends', async () => {
  await service.dev.revokeRefreshTokens()
  service.advance(3_600_000)
  expect(await service.session.getAccessToken().catch(codeOf)).toBe('session_ended')
})
