import { createAuthConfig, createBearerFetch, createSession, exchangeCode, readCallback, startLogin } from 'agent-auth'
import { createAgentApi } from 'agent-auth/api'

/** Signs in, calls the API, refreshes, and calls it again. */
export async function login(settings) {
  const config = createAuthConfig(settings)
  const { url, pending } = await startLogin(config)
  const answer = await fetch(url, { redirect: 'manual' })
  const grant = readCallback(pending, answer.headers.get('location'))
  const session = createSession(config)
  await session.signIn(await exchangeCode(config, grant))
  const api = createAgentApi({
    baseUrl: config.baseUrl,
    fetch: createBearerFetch(session, { baseUrl: config.baseUrl }),
  })
  const first = await api.llmModels.search()
  const before = await session.getAccessToken()
  const after = await session.getAccessToken({ forceRefresh: true })
  if (before === after) throw new Error('the token was not refreshed')
  const second = await api.llmModels.search()
  if (first.items.length === 0 || second.items.length !== first.items.length) throw new Error('no models')
}
