// @module-tag redis

import { redisStorage } from 'agent-auth/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BackendRig, backendRig, statusAndCode } from '../support/backend-rig.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'

// Two backends with connections of their own, as two processes have.

let server: RedisServer
let rig: BackendRig
const clients: Redis[] = []
function connection(): Redis {
  const client = new Redis(server.port, '127.0.0.1', { maxRetriesPerRequest: 0, retryStrategy: () => 50 })
  client.on('error', () => {})
  clients.push(client)
  return client
}

beforeAll(async () => {
  server = await startRedis({ persistence: 'every-write' })
  rig = await backendRig({ backend: { sessions: redisStorage(connection()) } })
})
afterAll(async () => {
  for (const client of clients) client.disconnect()
  await rig.close()
  await server.stop()
})

describe('a backend on Redis', () => {
  test('one exchange for a callback handled by two, one refresh for 64 stale requests', async () => {
    const other = rig.another({ sessions: redisStorage(connection()) })
    const browser = rig.browser()
    const { pathname, search } = await browser.goToCallback()
    const request = (): Request => browser.request(pathname + search, {}, 'cross-site')
    const [here, there] = await Promise.all([rig.backend.handle(request()), other.handle(request())])
    expect({ here: here?.status, there: there?.status }).toEqual({ here: 200, there: 200 })
    expect(rig.sent.filter(({ url }) => url.includes('=authorization_code'))).toHaveLength(1)
    const [cookie = ''] = here?.headers.getSetCookie() ?? []
    const [name = '', value = ''] = (cookie.split(';')[0] ?? '').split(/=(.*)/)
    const browsers = [rig.browser(), rig.browser(other)]
    for (const one of browsers) one.setCookie(name, value)
    await rig.service.dev.expireAccessTokens()
    const answers = await Promise.all(Array.from({ length: 64 }, (_, at) => browsers[at % 2]?.call()))
    expect(answers.map((answered) => answered?.status).filter((status) => status !== 200)).toEqual(Array(0))
    expect(rig.sent.filter(({ url }) => url.includes('=refresh_token'))).toHaveLength(1)
  })

  test('killed and started again: a retryable 503 meanwhile, and all users are still signed in', async () => {
    const browser = rig.browser()
    await browser.logIn()
    const elsewhere = rig.browser(rig.another({ sessions: redisStorage(connection()) }))
    elsewhere.setCookie(...browser.session())
    await server.crash()
    expect(await statusAndCode(await elsewhere.call())).toEqual({ status: 503, code: 'storage_failed' })
    await server.restart()
    await expect.poll(async () => (await elsewhere.call()).status).toBe(200)
    await expect.poll(() => browser.status()).toBe('signed-in')
    expect(elsewhere.lines).toEqual([])
  })
})
