import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Client, Service } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { basic, clientOf, errorOf } from '../support/login.ts'
import { assemble } from '../support/start.ts'
import { observe } from '../support/statements.ts'

let assembly: Assembly
let service: Service
let confidential: Client
beforeEach(async () => {
  assembly = await assemble({})
  service = assembly.service
  confidential = clientOf(service, 'Demo confidential')
})
afterEach(() => service.close())

/** A refresh with these credentials of a client, of a token that there is not. */
function post(authorization: string): Promise<Response> {
  return service.fetch(`${service.authUrl}/auth/v1/token?grant_type=refresh_token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization },
    body: '{"refresh_token":"x"}',
  })
}

test('guessing a secret is slowed down with Retry-After, and the right one passes all the same', async () => {
  const guess = (secret: string) => post(basic(confidential, secret))
  service.dev.freeze()
  const statuses: number[] = []
  for (let count = 0; count < 30; count += 1) statuses.push((await guess(`wrong-${count}`)).status)
  expect(statuses.slice(0, 11)).toEqual(Array.from({ length: 11 }, () => 401))
  expect(new Set(statuses.slice(11))).toEqual(new Set([429]))
  const slowed = await guess('wrong')
  expect({ status: slowed.status, retryAfter: slowed.headers.get('retry-after') }).toEqual({
    status: 429,
    retryAfter: '1',
  })
  const right = await guess(confidential.clientSecret ?? '')
  expect({ status: right.status, error: await errorOf(right) }).toEqual({ status: 400, error: 'invalid_grant' })
})

test('a right secret makes the failures of its client and address forgotten', async () => {
  const statusOf = async (secret: string) => (await post(basic(confidential, secret))).status
  service.dev.freeze()
  for (let count = 0; count < 10; count += 1) expect(await statusOf('x')).toBe(401)
  expect(await statusOf(confidential.clientSecret ?? '')).toBe(400)
  for (let count = 0; count < 11; count += 1) expect(await statusOf('x')).toBe(401)
  expect(await statusOf('x')).toBe(429)
})

test('two hundred guesses at once are eleven, and the delays grow to a quarter of an hour', async () => {
  const guess = () => post(basic(confidential, 'x'))
  service.dev.freeze()
  const answers = await Promise.all(Array.from({ length: 200 }, guess))
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(11)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(189)
  const delays: number[] = []
  for (let count = 0; count < 12; count += 1) {
    delays.push(Number((await guess()).headers.get('retry-after')))
    service.dev.advance((delays.at(-1) ?? 0) * 1_000)
    expect((await guess()).status).toBe(401)
  }
  expect({ firstSeconds: delays.slice(0, 4), longestSeconds: Math.max(...delays) }).toEqual({
    firstSeconds: [1, 2, 4, 8],
    longestSeconds: 900,
  })
})

test('a wait lasts to its last millisecond, and Retry-After counts each second that has begun', async () => {
  const guess = async () => {
    const { status, headers } = await post(basic(confidential, 'x'))
    return { status, retryAfter: headers.get('retry-after') }
  }
  service.dev.freeze()
  for (let count = 0; count < 11; count += 1) await guess()
  service.dev.advance(1_000)
  // Starts a wait of two seconds.
  expect(await guess()).toEqual({ status: 401, retryAfter: null })
  service.dev.advance(999)
  expect(await guess()).toEqual({ status: 429, retryAfter: '2' })
  service.dev.advance(1_000)
  expect(await guess()).toEqual({ status: 429, retryAfter: '1' })
  service.dev.advance(1)
  expect(await guess()).toEqual({ status: 401, retryAfter: null })
})

test('an unknown client costs the same queries as a wrong secret', async () => {
  // The clean-up of every minute would be counted too.
  service.dev.freeze()
  const sql: string[] = []
  observe(assembly, { before: (statement) => void sql.push(statement.sql) })
  const work = async (authorization: string) => {
    sql.length = 0
    const answer = await post(authorization)
    return { status: answer.status, text: await answer.text(), sql: [...sql] }
  }
  const wrong = await work(basic(confidential, 'x'))
  expect(wrong.sql).toHaveLength(2)
  expect(await work(`Basic ${Buffer.from('app_0:x').toString('base64')}`)).toEqual(wrong)
})
