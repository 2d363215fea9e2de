// @module-tag database

import { expect, onTestFinished, test } from 'vitest'
import { transact } from '../../src/store/database.ts'
import { findAccountByEmail } from '../../src/store/logins.ts'
import { endAccess } from '../../src/store/replace-password.ts'
import { agentSearch, callApi, clientOf, login, personOf, refresh, type Service } from '../support/login.ts'
import { assemble, startService } from '../support/start.ts'

/** Logs in, refreshes and creates an agent, and notes every status it sees. */
async function use(service: Service, statuses: Set<number>): Promise<void> {
  const noting: Service = {
    ...service,
    async fetch(input, init) {
      const answer = await service.fetch(input, init)
      statuses.add(answer.status)
      return answer
    },
  }
  const { access_token: token, refresh_token } = await login(noting)
  await refresh(noting, clientOf(service, 'Demo public'), refresh_token)
  const agent_name = `Agent ${statuses.size} ${Math.random()}`
  await callApi(noting, {
    token,
    path: '/api/parent_agents',
    body: { agent_name, description: '-', parent_agent_type: 'T' },
  })
}

test('dev.reset() succeeds under load, and no request that it interrupts gets 500', async () => {
  const running = await startService()
  onTestFinished(running.close)
  const { authUrl, baseUrl, people, clients, dev } = running
  const service = { authUrl, baseUrl, people, clients, fetch: running.fetch }
  const statuses = new Set<number>()
  let state: 'resetting' | 'done' = 'resetting'
  const workers = Array.from({ length: 4 }, async () => {
    // A login whose data go away fails in one of several ways.
    while (state === 'resetting') await use(service, statuses).catch(() => undefined)
  })
  try {
    for (let turn = 0; turn < 20; turn += 1) await dev.reset()
  } finally {
    state = 'done'
    await Promise.all(workers)
  }
  expect([...statuses]).toContain(200)
  expect([...statuses]).not.toContain(500)
  expect((await login(service)).access_token).not.toBe('')
})

test('ending the access of a user revokes the tokens and sessions of this user alone', async () => {
  const assembly = await assemble()
  const { service, context } = assembly
  onTestFinished(service.close)
  const client = clientOf(service, 'Demo public')
  const ada = await login(service, { client })
  const rui = await login(service, { client, person: personOf(service, 'rui') })
  const session = await service.dev.mintSessionToken('ada@demo.example')
  const account = await findAccountByEmail(context.store.db, 'ada@demo.example')
  await transact(context.store.db, (tx) => endAccess(tx, account?.id ?? '', context.clock.nowMs()))
  const status = async (token: string) => (await callApi(service, { token, path: agentSearch, body: {} })).status
  expect({
    login: await status(ada.access_token),
    session: await status(session),
    otherUser: await status(rui.access_token),
  }).toEqual({ login: 401, session: 401, otherUser: 200 })
  expect((await refresh(service, client, ada.refresh_token)).status).toBe(400)
  expect((await refresh(service, client, rui.refresh_token)).status).toBe(200)
})
