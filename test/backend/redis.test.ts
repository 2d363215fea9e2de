// @module-tag redis

import { redisStorage } from 'agent-auth/redis'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { rigOf } from '../support/rig-of.ts'
import { serverUrl } from '../support/servers-client.ts'

test('a backend on Redis: one exchange for a callback handled by two, one refresh for 64 stale requests', async () => {
  const redis = await serverUrl('redis')
  // Two backends with connections of their own, as two processes have.
  const sessionsOnRedis = () => {
    const client = new Redis(redis)
    onTestFinished(() => client.disconnect())
    return redisStorage(client)
  }
  const rig = await rigOf({ backend: { sessions: sessionsOnRedis() } })
  const other = rig.another({ sessions: sessionsOnRedis() })
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
