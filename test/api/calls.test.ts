import {
  type AuthConfigOptions,
  createAuthConfig,
  createBearerFetch,
  createSession,
  exchangeCode,
  readCallback,
  type Session,
  startLogin,
} from 'agent-auth'
import { createService, type Service } from 'agent-service'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Browser, clientOf, consentPath, personOf, signInPath } from '../../service/test/support/login.ts'
import { registerSecret } from '../support/canary.ts'

interface Seen {
  readonly path: string
  readonly authorization: string | null
  readonly body: string
  readonly status: number
}

const redirectUri = 'https://app.demo.example/callback'
const newAgent = {
  agent_name: 'Caf\u00e9 Helper',
  description: 'Answers.',
  parent_agent_type_key: 'assistant',
  active: true,
}

let service: Service
let seen: Seen[]

/** The service's own fetch, with a record of what reached it. */
const recorded: typeof fetch = async (input, init) => {
  const request = new Request(input, init)
  const body = await request.clone().text()
  const response = await service.fetch(request)
  const { pathname, search } = new URL(request.url)
  seen.push({
    path: pathname + search,
    authorization: request.headers.get('authorization'),
    body,
    status: response.status,
  })
  return response
}

beforeEach(async () => {
  service = await createService()
  seen = []
})

afterEach(() => service.close())

const refreshes = (): Seen[] => seen.filter(({ path }) => path.endsWith('grant_type=refresh_token'))
const apiCalls = (): Seen[] => seen.filter(({ path }) => path.startsWith('/api/'))

describe.each(['Demo public', 'Demo confidential'])('after a whole login, %s', (clientName) => {
  it('a revoked token: 401, one refresh, the same bytes again, and one agent is created', async () => {
    const { session, send } = await signIn('ada', clientName)
    const first = await session.getAccessToken()
    await service.dev.expireAccessTokens()
    const response = await send('/api/parent_agents', post(newAgent))
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({
      success: true,
      data: { items: [{ agent_name: 'Caf\u00e9 Helper' }] },
    })
    const second = await session.getAccessToken()
    expect(second).not.toBe(first)
    expect(apiCalls().map(({ status, authorization, body }) => ({ status, authorization, body }))).toEqual([
      { status: 401, authorization: `Bearer ${first}`, body: JSON.stringify(newAgent) },
      { status: 200, authorization: `Bearer ${second}`, body: JSON.stringify(newAgent) },
    ])
    expect(refreshes()).toHaveLength(1)
    expect(await countOfAgents(send, 'Caf\u00e9 Helper')).toBe(1)
  })

  it('50 calls at once with a revoked token: one refresh, and all of them succeed', async () => {
    const { send } = await signIn('ada', clientName)
    await service.dev.expireAccessTokens()
    const search = (): Promise<Response> => send('/api/llm_models/search', post({ limit: 5, offset: 0 }))
    const statuses = await Promise.all(Array.from({ length: 50 }, async () => (await search()).status))
    expect(statuses).toEqual(Array(50).fill(200))
    expect(refreshes()).toHaveLength(1)
  })

  it('403 missing permission comes back as it was: one sending, no refresh, the session stays', async () => {
    const { session, send } = await signIn('rui', clientName)
    const response = await send('/api/parent_agents', post(newAgent))
    expect({ status: response.status, text: await response.text() }).toEqual({
      status: 403,
      text: expect.stringContaining('missing permission'),
    })
    expect({
      apiCallsCount: apiCalls().length,
      refreshesCount: refreshes().length,
      status: session.state.status,
    }).toEqual({ apiCallsCount: 1, refreshesCount: 0, status: 'signed-in' })
  })

  it('when the refresh token is revoked too, the call ends with session_ended, and nothing is sent again', async () => {
    const { session, send } = await signIn('ada', clientName)
    await service.dev.expireAccessTokens()
    await service.dev.revokeRefreshTokens()
    await expect(send('/api/parent_agents', post(newAgent))).rejects.toMatchObject({ code: 'session_ended' })
    expect(session.state).toMatchObject({ status: 'signed-out', reason: 'refused' })
    expect(apiCalls().map(({ status }) => status)).toEqual([401])
  })
})

describe('other bearers', () => {
  it('a user session token opens the API, and when it is over its 401 comes back after one sending', async () => {
    const token = await service.dev.mintSessionToken(personOf(service, 'ada').email)
    registerSecret('user session token', token)
    const send = createBearerFetch(token, { baseUrl: service.baseUrl, fetch: recorded })
    expect((await send('/api/parent_agents', post(newAgent))).status).toBe(200)
    expect(await countOfAgents(send, newAgent.agent_name)).toBe(1)
    service.dev.advance(13 * 60 * 60_000)
    seen = []
    const late = await send('/api/parent_agents', post(newAgent))
    expect({ status: late.status, text: await late.text() }).toEqual({
      status: 401,
      text: expect.stringContaining('invalid authentication credentials'),
    })
    expect({ apiCallsCount: apiCalls().length, refreshesCount: refreshes().length }).toEqual({
      apiCallsCount: 1,
      refreshesCount: 0,
    })
  })

  it('the authorization host gets no bearer token', async () => {
    const { send } = await signIn('ada', 'Demo public')
    await send(`${service.authUrl}/auth/v1/authorize`)
    expect(seen.at(-1)?.authorization).toBe(null)
  })
})

/** Signs in through the pages of the service; what was sent meanwhile is forgotten. */
async function signIn(name: string, clientName: string): Promise<{ session: Session; send: typeof fetch }> {
  const { clientId, clientSecret } = clientOf(service, clientName)
  const options: AuthConfigOptions = {
    authUrl: service.authUrl,
    baseUrl: service.baseUrl,
    clientId,
    redirectUri,
    fetch: recorded,
  }
  const config = createAuthConfig({ ...options, clientSecret })
  const { url, pending } = await startLogin(config)
  const browser = new Browser(service.fetch)
  const { email, password } = personOf(service, name)
  const consent = await browser.submit(await browser.get(url.href), signInPath, { email, password })
  const callback = (await browser.submit(consent, consentPath, { decision: 'approve' })).next ?? ''
  const session = createSession(config)
  await session.signIn(await exchangeCode(config, readCallback(pending, callback)))
  seen = []
  return { session, send: createBearerFetch(session, { baseUrl: service.baseUrl, fetch: recorded }) }
}

function post(body: unknown): RequestInit {
  return { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
}

async function countOfAgents(send: typeof fetch, agentName: string): Promise<number> {
  const filters = [{ column: 'agent_name', operator: 'equals', value: agentName }]
  const response = await send('/api/parent_agents/search', post({ limit: 10, offset: 0, filters }))
  return ((await response.json()) as { data: { count: number } }).data.count
}
