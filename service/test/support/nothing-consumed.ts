import { expect, vi } from 'vitest'
import { authorize, callApi, clientOf, exchange, login, refresh, type Service, type TokenAnswer } from './login.ts'

const newAgent = { path: '/api/parent_agents', body: { agent_name: 'N', description: 'x', parent_agent_type: 'x' } }

/**
 * While the database cannot be written: a refresh, a redemption, a create and a page are 503 and may come again. After
 * `mend` the same refresh token, code and agent name work as if nothing had been asked.
 */
export async function expectNothingConsumed(
  service: Service,
  { harm, mend }: { harm: () => Promise<void>; mend: () => Promise<void> },
): Promise<void> {
  const client = clientOf(service, 'Demo public')
  const tokens = await login(service)
  const callback = await authorize(service)
  await harm()
  const refused = [await refresh(service, client, tokens.refresh_token), await exchange(service, callback)]
  for (const answer of refused) {
    expect({ status: answer.status, retryAfter: answer.headers.get('retry-after') }).toEqual({
      status: 503,
      retryAfter: '1',
    })
    expect(await answer.json()).toMatchObject({ error: 'temporarily_unavailable' })
  }
  const created = await callApi(service, { token: tokens.access_token, ...newAgent })
  expect({ status: created.status, retryAfter: created.headers.get('retry-after') }).toEqual({
    status: 503,
    retryAfter: '1',
  })
  expect(await created.json()).toMatchObject({ success: false, error_type: 'service_unavailable' })
  await mend()
  const rotated = await well(() => refresh(service, client, tokens.refresh_token))
  expect(rotated.status).toBe(200)
  const next = (await rotated.json()) as TokenAnswer
  expect((await refresh(service, client, next.refresh_token)).status).toBe(200)
  expect((await exchange(service, callback)).status).toBe(200)
  expect((await callApi(service, { token: tokens.access_token, ...newAgent })).status).toBe(200)
}

/** The first answer that is not 503: a connection that was ended can be noticed a moment later. */
async function well(ask: () => Promise<Response>): Promise<Response> {
  const answer = await ask()
  return answer.status === 503 ? vi.waitUntil(async () => notBusy(await ask()), { timeout: 30_000 }) : answer
}

function notBusy(answer: Response): Response | false {
  return answer.status !== 503 && answer
}
