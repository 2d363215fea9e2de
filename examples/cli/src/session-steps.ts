import { createBearerFetch, isAgentAuthError, type Session } from 'agent-auth'
import { createAgentApi } from 'agent-auth/api'
import type { Stage } from './login-steps.ts'
import { fingerprint } from './narrator.ts'

/** Calls all four endpoints of the API. */
export async function callApi({ narrator, service }: Stage, session: Session): Promise<void> {
  narrator.step('Call the API through the API client and the bearer fetch')
  const { baseUrl } = service
  const { parentAgents, llmModels } = createAgentApi({
    baseUrl,
    fetch: createBearerFetch(session, { baseUrl, fetch: narrator.watch(fetch) }),
  })
  const { items, count } = await parentAgents.search({ limit: 3, offset: 0 })
  narrator.line(`${count} parent agents, first: ${items.map(({ agent_name }) => agent_name).join(', ')}`)
  const created = await parentAgents.create({
    agent_name: 'Demo Helper',
    description: 'Shows that a login can create an agent.',
    parent_agent_type_key: items[0]?.parent_agent_type_key ?? '',
    active: true,
  })
  narrator.line(`created ${created.items[0]?.agent_key}`)
  const models = await llmModels.search({ limit: 5, offset: 0 })
  narrator.line(`${models.count} LLM models: ${models.items.map(({ model_name }) => model_name).join(', ')}`)
  const { context_variables: groups = [] } = await parentAgents.contextVariables(items[0]?.id ?? 0)
  narrator.line(`context variables of ${groups.map(({ key }) => key).join(', ')}`)
}

/** Shows that 50 calls with an expired token cause one refresh. */
export async function expireAndRefresh({ narrator, service }: Stage, session: Session): Promise<void> {
  narrator.step('Let the access token expire, then make 50 calls at once')
  await fetch(`${service.authUrl}/_dev/clock`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ advanceMs: 3_600_000 }),
  })
  const before = await session.getAccessToken()
  const statuses: number[] = []
  const { baseUrl } = service
  const bearer = createBearerFetch(session, {
    baseUrl,
    fetch: async (input, init) => {
      const response = await fetch(input, init)
      statuses.push(response.status)
      return response
    },
  })
  // A call that did not survive the expiry rejects, also with `success: false` and status 200.
  const { parentAgents } = createAgentApi({ baseUrl, fetch: bearer, maxRetries: 0 })
  await Promise.all(Array.from({ length: 50 }, () => parentAgents.search({ limit: 1, offset: 0 })))
  const count = (status: number): number => statuses.filter((seen) => seen === status).length
  narrator.line(`${count(401)} responses of 401, the one refresh above, ${count(200)} responses of 200`)
  narrator.line(`access token ${fingerprint(before)} became ${fingerprint(await session.getAccessToken())}`)
}

/** Shows the refresh request of a confidential client. */
export async function forceRefresh({ narrator }: Stage, session: Session): Promise<void> {
  narrator.step('Refresh as a confidential client: Basic credentials, refresh_token alone in the JSON body')
  const token = await session.getAccessToken({ forceRefresh: true })
  narrator.line(`access token ${fingerprint(token)}`)
}

/** Signs out, and shows that the session has no token any more. */
export async function signOut({ narrator }: Stage, kind: string, session: Session): Promise<void> {
  narrator.step(`Sign out of the ${kind} client`)
  await session.signOut()
  try {
    await session.getAccessToken()
  } catch (error) {
    if (!isAgentAuthError(error) || error.code !== 'login_required') throw error
    narrator.line(`session: ${session.state.status}; the next call rejects with ${error.code}`)
    return
  }
  throw new Error('The session survived its sign-out.')
}
