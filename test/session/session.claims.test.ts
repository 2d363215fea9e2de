import { inspect } from 'node:util'
import { createSession, memoryStorage } from 'agent-auth'
import { SignJWT } from 'jose'
import { expect, test } from 'vitest'
import { testClock } from '../support/clock.ts'
import { configWith, tokensWith } from '../support/token-flow.ts'

const key = crypto.getRandomValues(new Uint8Array(32))

async function jwt(claims: Record<string, unknown>): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(key)
}

test('session.claims are those of the current access token, also after a refresh and a start', async () => {
  const clock = testClock()
  const refreshed = await jwt({ sub: 'user-1', tenant: 'demo', permissions: ['parent_agents.read'] })
  const fetch = async (): Promise<Response> =>
    Response.json({ access_token: refreshed, refresh_token: 'next', expires_in: 60 })
  const config = configWith({ clock, fetch })
  const storage = memoryStorage()
  const session = createSession(config, { storage })
  await session.signIn(tokensWith({ accessToken: await jwt({ sub: 'user-1' }), expiresAtMs: clock.wallMs() + 60_000 }))
  expect(session.claims).toEqual({ subject: 'user-1', claims: { sub: 'user-1' } })

  clock.advance(60_000)
  expect(session.claims?.subject).toBe('user-1')
  await session.getAccessToken()
  expect(session.claims).toMatchObject({ subject: 'user-1', tenant: 'demo', permissions: ['parent_agents.read'] })

  const restarted = createSession(config, { storage })
  expect(restarted.claims).toBe(undefined)
  await restarted.ready()
  expect(restarted.claims).toEqual(session.claims)
  expect(restarted.getSnapshot()).toBe(restarted.state)
  expect(restarted.state.claims).toBe(restarted.claims)
})

test('session.claims are undefined while no user is signed in, and for a token that is no JWT', async () => {
  const session = createSession(configWith())
  await session.signIn(tokensWith({ accessToken: 'opaque' }))
  expect({ status: session.state.status, claims: session.claims }).toEqual({ status: 'signed-in', claims: undefined })
  await session.signIn(tokensWith({ accessToken: await jwt({ sub: 'user-1' }) }))
  expect(session.claims?.subject).toBe('user-1')
  await session.signOut()
  expect(session.claims).toBe(undefined)
})

test('neither the session nor its claims hold a token, and no log of a session shows claims', async () => {
  const session = createSession(configWith())
  const accessToken = await jwt({ sub: 'user-1' })
  await session.signIn(tokensWith({ accessToken }))
  const signature = accessToken.split('.')[2] ?? ''
  expect(JSON.stringify([session, session.claims]) + inspect([session, session.claims], { depth: 9 })).not.toContain(
    signature,
  )
  expect(JSON.stringify(session) + inspect(session)).not.toContain('user-1')
})
