// @module-tag redis

import { redisStorage } from 'agent-auth/redis'
import { Redis } from 'ioredis'
import { test } from 'vitest'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { silentWay } from '../support/silent-way.ts'
import { failuresSuite } from './failures-suite.ts'
import { clients, ownRedis, retryable } from './own-redis.ts'

failuresSuite('ioredis')

test.concurrent('gone without a word: with socketTimeout ioredis serves again', async ({ expect, onTestFinished }) => {
  const server = await ownRedis({}, onTestFinished)
  const way = await silentWay(server.port, onTestFinished)
  const client = new Redis(way.port, '127.0.0.1', { socketTimeout: 3_500 })
  client.on('error', () => {})
  onTestFinished(() => client.disconnect())
  const storage = redisStorage(client)
  await storage.setItem('name', 'value')
  way.silence()
  await expect(storage.getItem('name')).rejects.toMatchObject(retryable)
  await expect.poll(() => codeOf(storage.getItem('name'))).toEqual({ resolved: 'value' })
})

test.concurrent('a sign-in that is saved late undoes no sign-out elsewhere', async ({ expect, onTestFinished }) => {
  const server = await ownRedis({}, onTestFinished)
  const { client, storage: elsewhere } = await clients.ioredis(server.url, '', onTestFinished)
  let isArmed = true
  const storage = redisStorage({
    get: (key) => client.get(key),
    async eval(script: string, keyCount: number, ...args: string[]) {
      if (isArmed && args.some((text) => text.includes('accessToken'))) {
        isArmed = false
        await client.client('PAUSE', 3_500, 'ALL')
      }
      return client.eval(script, keyCount, ...args)
    },
  })
  const { clock, service, realm } = sessionRig()
  const [here, there] = [realm({ storage }), realm({ storage: elsewhere })]
  await here.session.signIn(service.issue())
  expect((await there.session.ready()).status).toBe('signed-in')
  await there.session.signOut()
  for (let call = 0; call < 2; call++) {
    clock.advance(6_000)
    expect(await codeOf(here.session.getAccessToken())).toBe('login_required')
  }
  expect(await client.keys('*')).toEqual([])
})
