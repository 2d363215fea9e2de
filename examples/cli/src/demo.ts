import {
  createAuthConfig,
  createBearerFetch,
  createSession,
  encryptedStorage,
  exchangeCode,
  isAgentAuthError,
  memoryStorage,
  readCallback,
  type Session,
  startLogin,
} from 'agent-auth'
import { type Service, startService } from 'agent-service'
import { type CallbackListener, listenForCallback } from './callback-listener.ts'
import { createNarrator, fingerprint, type Narrator } from './narrator.ts'
import { createPerson } from './person.ts'

const help = `Usage: npm run demo

Starts agent-service on two loopback ports and watches two whole logins happen: authorize URL, sign-in, consent,
callback, exchange, API calls, expiry, one refresh for many calls, sign-out. Secrets are shown as fingerprints.

Exit codes: 0 the whole flow worked, 1 something did not, 2 an unknown argument.`

interface Scene {
  readonly narrator: Narrator
  readonly service: Service
  readonly listener: CallbackListener
}

async function main(): Promise<void> {
  const print = (line: string): boolean => process.stdout.write(`${line}\n`)
  const [argument] = process.argv.slice(2)
  if (argument !== undefined) {
    const asked = /^(-h|--help)$/.test(argument)
    if (asked) print(help)
    else process.stderr.write(`demo: unknown argument '${argument}'\nTry npm run demo -- --help\n`)
    process.exitCode = asked ? 0 : 2
    return
  }
  const narrator = createNarrator(print)
  const listener = await listenForCallback()
  narrator.step('Start agent-service: two origins, one process, an in-memory database')
  const service = await startService({ dev: 'on', redirectUris: [listener.redirectUri] })
  const scene = { narrator, service, listener }
  try {
    narrator.line(`authorization ${service.authUrl}   API ${service.baseUrl}`)
    const session = await logIn(scene, 'public')
    await callApi(scene, session)
    await expireAndRefresh(scene, session)
    const second = await logIn(scene, 'confidential')
    await forceRefresh(scene, second)
    await signOut(scene, 'public', session)
    await signOut(scene, 'confidential', second)
  } finally {
    await Promise.all([service.close(), listener.close()])
  }
  print('\ndemo: login flow complete')
}

async function logIn({ narrator, service, listener }: Scene, kind: 'public' | 'confidential'): Promise<Session> {
  const client = pick(service.clients, (candidate) => candidate.kind === kind)
  const person = pick(service.people, ({ tenant }) => tenant === client.tenant)
  const watched = narrator.watch(fetch)
  const config = createAuthConfig({
    authUrl: service.authUrl,
    baseUrl: service.baseUrl,
    clientId: client.clientId,
    clientSecret: client.clientSecret,
    redirectUri: listener.redirectUri,
    fetch: watched,
  })

  narrator.step(`Build the authorize URL (${kind} client, state and S256 challenge)`)
  const { url, pending } = await startLogin(config, { returnTo: '/agents?page=2' })
  narrator.line(`verifier ${fingerprint(pending.codeVerifier)} stays here; its SHA-256 goes along as the challenge`)

  narrator.step(`${person.name} signs in and approves, page by page`)
  const callback = await createPerson(watched, person).signInAndApprove(url, listener.redirectUri)

  narrator.step('Check the callback')
  expectRefusal(narrator, () => readCallback(pending, callback.replace('state=', 'state=x')))
  const grant = readCallback(pending, callback)
  narrator.line(`state matches; the person goes back to ${grant.returnTo}`)

  narrator.step('Exchange the code by form post')
  const tokens = await exchangeCode(config, grant)
  narrator.line(
    `access token ${fingerprint(tokens.accessToken)}, good for ${lifeSeconds(tokens)} s, refresh token ${fingerprint(tokens.refreshToken ?? '')}`,
  )

  narrator.step('Store the tokens, sealed with AES-256-GCM')
  const key = { id: 'demo', key: crypto.getRandomValues(new Uint8Array(32)) }
  const session = createSession(config, { storage: encryptedStorage(memoryStorage(), { keys: [key] }), key: kind })
  await session.signIn(tokens)
  narrator.line(`session: ${session.state.status}`)
  return session
}

async function callApi({ narrator, service }: Scene, session: Session): Promise<void> {
  narrator.step('Call the API through the bearer fetch')
  const api = createBearerFetch(session, { baseUrl: service.baseUrl, fetch: narrator.watch(fetch) })
  const found = await post(api, '/api/parent_agents/search', { limit: 3, offset: 0 })
  narrator.line(`${found.count} parent agents, first: ${found.items.map((agent) => agent.agent_name).join(', ')}`)
  const created = await post(api, '/api/parent_agents', {
    agent_name: 'Demo Helper',
    description: 'Shows that a login can create an agent.',
    parent_agent_type_key: found.items[0]?.parent_agent_type_key,
    active: true,
  })
  narrator.line(`created ${created.items[0]?.agent_key}`)
  const models = await post(api, '/api/llm_models/search', { limit: 5, offset: 0 })
  narrator.line(`${models.count} LLM models: ${models.items.map((model) => model.model_name).join(', ')}`)
  const response = await api(`/api/parent_agents/${found.items[0]?.id}/state_function/context_variables`)
  const { data } = (await response.json()) as { data: { context_variables: { key: string }[] } }
  narrator.line(`context variables of ${data.context_variables.map(({ key }) => key).join(', ')}`)
}

async function expireAndRefresh({ narrator, service }: Scene, session: Session): Promise<void> {
  narrator.step('Let the access token expire, then make 50 calls at once')
  await fetch(`${service.authUrl}/_dev/clock`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ advanceMs: 3_600_000 }),
  })
  const before = await session.getAccessToken()
  const statuses: number[] = []
  const api = createBearerFetch(session, {
    baseUrl: service.baseUrl,
    fetch: async (input, init) => {
      const response = await fetch(input, init)
      statuses.push(response.status)
      return response
    },
  })
  const search = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"limit":1,"offset":0}' }
  const answers = await Promise.all(Array.from({ length: 50 }, () => api('/api/parent_agents/search', search)))
  const count = (status: number): number => statuses.filter((seen) => seen === status).length
  narrator.line(`${count(401)} answers of 401, the one refresh above, ${count(200)} answers of 200`)
  narrator.line(`access token ${fingerprint(before)} became ${fingerprint(await session.getAccessToken())}`)
  if (answers.some(({ status }) => status !== 200)) throw new Error('A call did not survive the expiry.')
}

async function forceRefresh({ narrator }: Scene, session: Session): Promise<void> {
  narrator.step('Refresh as a confidential client: Basic credentials, refresh_token alone in the JSON body')
  const token = await session.getAccessToken({ forceRefresh: true })
  narrator.line(`access token ${fingerprint(token)}`)
}

async function signOut({ narrator }: Scene, kind: string, session: Session): Promise<void> {
  narrator.step(`Sign out of the ${kind} client`)
  await session.signOut()
  try {
    await session.getAccessToken()
  } catch (error) {
    if (!isAgentAuthError(error) || error.code !== 'login_required') throw error
    narrator.line(`session: ${session.state.status}; the next call is refused with ${error.code}`)
    return
  }
  throw new Error('The session survived its sign-out.')
}

interface Found {
  readonly count: number
  readonly items: ReadonlyArray<Record<string, string | number>>
}

async function post(api: typeof fetch, path: string, body: unknown): Promise<Found> {
  const response = await api(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path} answered ${response.status}`)
  return ((await response.json()) as { data: Found }).data
}

function expectRefusal(narrator: Narrator, check: () => unknown): void {
  try {
    check()
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    narrator.line(`a forged state is refused with ${error.code}`)
    return
  }
  throw new Error('A forged callback was accepted.')
}

function lifeSeconds({ expiresAtMs = 0, obtainedAtMs }: { expiresAtMs?: number; obtainedAtMs: number }): number {
  return Math.round((expiresAtMs - obtainedAtMs) / 1000)
}

function pick<T>(items: readonly T[], test: (item: T) => boolean): T {
  const found = items.find(test)
  if (!found) throw new Error('The service offers nothing of the kind the demo needs.')
  return found
}

main().catch((error: unknown) => {
  process.stderr.write(`demo: failed\n${error instanceof Error ? error.stack : String(error)}\n`)
  process.exitCode = 1
})
