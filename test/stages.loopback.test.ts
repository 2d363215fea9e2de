// The command-line login of docs/stages.md, over real sockets.
import { createBearerFetch, type Session } from 'agent-auth'
import { type Service, startService } from 'agent-service'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { signInWithLoopback } from '../docs/snippets/loopback.ts'
import { clientOf, personOf } from '../service/test/login.ts'
import { failure } from './support/token-flow.ts'

let service: Service
beforeAll(async () => {
  service = await startService({ dev: 'on' })
})
beforeEach(() => service.dev.autoApprove(personOf(service, 'ada').email))
afterAll(() => service.close())

interface Visit {
  readonly url: string
  readonly status: number
  readonly text: string
}

/** Signs in with a browser that visits these pages, one after the other. */
function signIn(pagesOf: (address: URL, redirectUri: string) => (string | URL)[]) {
  const { authUrl, baseUrl } = service
  const { clientId } = clientOf(service, 'Demo public')
  let redirectUri = ''
  let visits: Promise<Visit[]> | undefined
  const session: Promise<Session> = signInWithLoopback({ authUrl, baseUrl, clientId }, (address) => {
    const url = new URL(address)
    redirectUri = url.searchParams.get('redirect_uri') ?? ''
    visits = visitAll(pagesOf(url, redirectUri))
  })
  return { session, visits: async () => (await visits) ?? [], redirectUri: () => redirectUri }
}

async function visitAll(pages: readonly (string | URL)[]): Promise<Visit[]> {
  const visits: Visit[] = []
  for (const page of pages) {
    const response = await fetch(page)
    visits.push({ url: response.url, status: response.status, text: await response.text() })
  }
  return visits
}

const refused = { cause: { code: 'ECONNREFUSED' } }

it('docs/stages.md: a command-line tool signs in over a listener of its own and calls the API', async () => {
  const { session, visits } = signIn((address) => [address])
  const api = createBearerFetch(await session, { baseUrl: service.baseUrl })
  expect(await visits()).toMatchObject([{ status: 200, text: 'You can close this page.' }])
  const headers = { 'content-type': 'application/json' }
  expect((await api('/api/llm_models/search', { method: 'POST', headers, body: '{}' })).status).toBe(200)
})

it('docs/stages.md: requests without the state of the login end nothing, and the listener closes', async () => {
  const { session, visits, redirectUri } = signIn((address, callback) => [
    new URL('/favicon.ico', callback),
    `${callback}?code=theirs&state=theirs`,
    address,
  ])
  expect((await session).state.status).toBe('signed-in')
  expect((await visits()).map(({ status }) => status)).toEqual([404, 404, 200])
  await expect(fetch(redirectUri())).rejects.toMatchObject(refused)
})

it('docs/stages.md: a denied login rejects and the listener closes', async () => {
  const { session, visits, redirectUri } = signIn(({ searchParams }, callback) => [
    `${callback}?error=access_denied&state=${searchParams.get('state')}`,
  ])
  expect(await failure(session)).toMatchObject({ code: 'login_denied' })
  await visits()
  await expect(fetch(redirectUri())).rejects.toMatchObject(refused)
})
