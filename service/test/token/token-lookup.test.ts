// @module-tag database

import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { hashToken } from '../../src/store/database.ts'
import { agentSearch, authorize, Browser, callApi, clientOf, exchange, refresh } from '../support/login.ts'
import { assemble } from '../support/start.ts'
import { observe } from '../support/statements.ts'

let assembly: Assembly
let service: Service
let parameters: string[]
beforeEach(async () => {
  assembly = await assemble({})
  service = assembly.service
  parameters = []
  observe(assembly, { before: (statement) => void parameters.push(...statement.parameters.map(String)) })
})
afterEach(() => service.close())

/** No part of it that would help to guess the rest. */
function partsOf(value: string): string[] {
  return Array.from({ length: value.length - 7 }, (_, at) => value.slice(at, at + 8))
}

test('of codes, tokens, cookies and secrets the database is only ever asked for the hash', async () => {
  const browser = new Browser(service.fetch)
  const callback = await authorize(service, { browser })
  const tokens = (await (await exchange(service, callback)).json()) as Record<string, string>
  const { access_token = '', refresh_token = '' } = tokens
  await refresh(service, callback.client, refresh_token)
  await callApi(service, { token: access_token, path: agentSearch, body: {} })
  const session = await service.dev.mintSessionToken('ada@demo.example')
  await callApi(service, { token: session, path: agentSearch, body: {} })
  const confidential = clientOf(service, 'Demo confidential')
  await refresh(service, confidential, refresh_token)
  await authorize(service, { browser })

  const cookies = ['browser', 'session'].map((name) => browser.cookie(name) ?? '')
  const looked = [callback.code, access_token, refresh_token, session, ...cookies]
  for (const value of looked) expect(parameters).toContain(hashToken(value))
  const all = parameters.join('\n')
  for (const value of [...looked, callback.verifier, confidential.clientSecret ?? ''].filter(Boolean)) {
    // What all of them share is no secret: the prefix, and the header of a JWT.
    const shared = value === access_token ? value.split('.')[0]?.length : 4
    for (const part of partsOf(value.slice(shared))) expect(all.includes(part), part).toBe(false)
  }
})
