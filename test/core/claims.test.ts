import { readClaims, type Tokens } from 'agent-auth'
import { createService } from 'agent-service'
import { SignJWT } from 'jose'
import { expect, it, onTestFinished } from 'vitest'
import { personOf } from '../../service/test/support/login.ts'
import { sessionAt } from '../support/api-client.ts'
import { tokensWith } from '../support/token-flow.ts'

const key = crypto.getRandomValues(new Uint8Array(32))
const tokens = (accessToken: string): Tokens => tokensWith({ accessToken })

async function jwt(claims: Record<string, unknown>): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(key)
}

it('reads subject, tenant and permissions of a signed JWT, and keeps all claims as they are', async () => {
  const claims = { sub: 'user-1', tenant: 'Zürich \u{1F3D4}', permissions: ['api.access', 'parent_agents.read'], n: 1 }
  expect(readClaims(tokens(await jwt(claims)))).toEqual({
    subject: 'user-1',
    tenant: 'Zürich \u{1F3D4}',
    permissions: ['api.access', 'parent_agents.read'],
    claims,
  })
})

it('reads claims whose base64url text contains - and _', async () => {
  const token = await jwt({ sub: 'ÿþ>>>???~~~žß' })
  expect(token.split('.')[1]).toMatch(/-.*_|_.*-/)
  expect(readClaims(tokens(token))?.subject).toBe('ÿþ>>>???~~~žß')
})

it('does not verify: a JWT whose signature is wrong, or that has expired, reads the same', async () => {
  const token = await jwt({ sub: 'user-1', exp: 1 })
  expect(readClaims(tokens(token))?.subject).toBe('user-1')
  expect(readClaims(tokens(`${token.slice(0, -4)}AAAA`))?.subject).toBe('user-1')
})

it('leaves out members that are not there or are of another kind, also those of a prototype', async () => {
  const claims = { sub: 7, tenant: { id: 'demo' }, permissions: 'api.access' }
  expect(readClaims(tokens(await jwt(claims)))).toEqual({ claims })
  expect(readClaims(tokens(await jwt({ permissions: ['a', 1] })))).toEqual({ claims: { permissions: ['a', 1] } })
  const text = '{"__proto__": {"sub": "user-2"}}'
  const token = `${btoa('{"alg":"none"}')}.${btoa(text)}.`.replaceAll('=', '')
  expect(readClaims(tokens(token))?.subject).toBe(undefined)
})

const part = (text: string): string => btoa(text).replaceAll('=', '')

it.each([
  'opaque',
  'a.b.c',
  `${part('{}')}.${part('{}')}`,
  `${part('{}')}.${part('{}')}.x.y.z`,
  `${part('{}')}.${part('[]')}.x`,
  `${part('{}')}.${part('{')}.x`,
  `${part('{}')}.%%%.x`,
])('gives undefined for %j', (token) => {
  expect(readClaims(tokens(token))).toBe(undefined)
})

it('reads the access tokens of agent-service, and gives undefined for its user session tokens', async () => {
  const service = await createService()
  onTestFinished(() => service.close())
  const session = await sessionAt(service, 'ada')
  expect(readClaims({ accessToken: await session.getAccessToken() })).toMatchObject({
    subject: expect.any(String),
    tenant: 'demo',
    permissions: expect.arrayContaining(['api.access', 'parent_agents.read']),
    claims: { scope: 'api.access' },
  })
  const token = await service.dev.mintSessionToken(personOf(service, 'ada').email)
  expect(readClaims(tokens(token))).toBe(undefined)
})
