// @module-tag redis

import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { redisStorage } from 'agent-auth/redis'
import { Cluster, Redis } from 'ioredis'
import { createCluster } from 'redis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { storageSuite } from '../storage/storage-suite.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'
import { clients, kinds, onAdmin, ownRedis, retryable } from './own-redis.ts'

/** A way to Redis that breaks once, after Redis has done what it was asked for a lock and before it can say so. */
async function losesOneAnswer(port: number): Promise<number> {
  let lost = false
  const way = await tcpProxy({
    target: () => port,
    filter({ client, server }) {
      let asked = false
      return (data, from) => {
        asked ||= from === 'client' && data.includes("'NX'")
        if (from === 'client' || !asked || lost) return true
        lost = true
        for (const socket of [client, server]) socket.destroy()
        return false
      }
    },
  })
  onTestFinished(() => way.close())
  return way.port
}

describe.each(kinds)('a lock in Redis that is lost, seen through %s', (kind) => {
  const storages = async () => {
    const server = await ownRedis()
    const prefix = randomUUID()
    const [one, two] = [await clients[kind](server.url, prefix), await clients[kind](server.url, prefix)]
    const admin = await onAdmin(server)
    const loseLock = (name: string): Promise<number> => admin.del(`${prefix}{${name}}:lock`)
    return { one: one.storage, two: two.storage, admin, loseLock, prefix }
  }

  test('the holder can neither write nor remove, also when no other process has taken it', async () => {
    const { one, two, loseLock } = await storages()
    await two.setItem('name', 'before')
    await one.withLock('name', async () => {
      await one.setItem('name', 'while held')
      expect(await loseLock('name')).toBe(1)
      await expect(one.setItem('name', 'after the loss')).rejects.toMatchObject(retryable)
      await expect(one.removeItem('name')).rejects.toMatchObject(retryable)
    })
    expect(await two.getItem('name')).toBe('while held')
  })

  test('two holders after a failover: one commit, that of the one who has the lock', async () => {
    const { one, two, loseLock } = await storages()
    const outcomes: unknown[] = []
    await one.withLock('name', async () => {
      await loseLock('name')
      await two.withLock('name', async () => {
        outcomes.push(await codeOf(one.setItem('name', 'first')))
        outcomes.push(await codeOf(two.setItem('name', 'second')))
      })
    })
    expect(outcomes).toEqual(['storage_failed', { resolved: undefined }])
    expect(await one.getItem('name')).toBe('second')
  })

  test('a lock whose answer was lost on the way is had when it is asked for again', async () => {
    const server = await ownRedis()
    const port = await losesOneAnswer(server.port)
    const { storage } = await clients[kind](`redis://127.0.0.1:${port}`)
    let runs = 0
    const startMs = performance.now()
    const turn = (): Promise<string> => storage.withLock('name', async () => `ran ${++runs}`)
    // ioredis repeats the command by itself, node-redis reports the loss.
    expect(await (kind === 'ioredis' ? turn() : turn().catch(turn))).toBe('ran 1')
    // Without it, it would wait until the lease of 8 s ends.
    expect(performance.now() - startMs).toBeLessThan(7_000)
  })

  test('the loser does not free the lock of the next holder', async () => {
    const { one, two, loseLock, admin, prefix } = await storages()
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let next: Promise<void> | undefined
    await one.withLock('name', async () => {
      await loseLock('name')
      next = two.withLock('name', () => held)
      await expect.poll(() => admin.exists(`${prefix}{name}:lock`)).toBe(1)
    })
    expect(await admin.exists(`${prefix}{name}:lock`)).toBe(1)
    release()
    await next
    expect(await admin.exists(`${prefix}{name}:lock`)).toBe(0)
  })
})

describe('records in Redis', () => {
  test('are read from the primary inside a lock, even through a client that reads from a replica that lags', async () => {
    const server = await ownRedis()
    const { client } = await clients.ioredis(server.url)
    const lagging = redisStorage({
      get: async () => 'stale',
      eval: (script: string, count: number, ...rest: string[]) => client.eval(script, count, ...rest),
    })
    await lagging.setItem('name', 'fresh')
    expect(await lagging.getItem('name')).toBe('stale')
    expect(await lagging.withLock('name', async () => lagging.getItem('name'))).toBe('fresh')
  })

  test('are not taken for gone because a replica has not heard of them yet', async () => {
    const [primary, replica] = [await ownRedis(), await ownRedis()]
    const { client } = await clients.ioredis(primary.url)
    const lagging = await onAdmin(replica)
    const storage = redisStorage({
      get: (key) => lagging.get(key),
      eval: (script: string, count: number, ...rest: string[]) => client.eval(script, count, ...rest),
    })
    const { clock, service, realm } = sessionRig()
    const { session } = realm({ storage })
    const tokens = service.issue()
    await session.signIn(tokens)
    clock.advance(2_000)
    expect(await codeOf(session.getAccessToken())).toEqual({ resolved: tokens.accessToken })
    expect(await codeOf(realm({ storage }).session.getAccessToken())).toEqual({ resolved: tokens.accessToken })
    await session.signOut()
    clock.advance(2_000)
    expect(await codeOf(realm({ storage }).session.getAccessToken())).toBe('login_required')
  })

  test('a lock is asked for by one waiter of each process, however many there are', async () => {
    const server = await ownRedis()
    const { client } = await clients.ioredis(server.url)
    const prefix = randomUUID()
    const { storage: elsewhere } = await clients.ioredis(server.url, prefix)
    let asked = 0
    let asking = 0
    let most = 0
    const counted = redisStorage(
      {
        get: (key) => client.get(key),
        eval(script: string, count: number, ...rest: string[]) {
          asked += 1
          asking += 1
          most = Math.max(most, asking)
          return client.eval(script, count, ...rest).finally(() => {
            asking -= 1
          })
        },
      },
      { prefix },
    )
    await elsewhere.withLock('name', async () => {
      const stop = new AbortController()
      setMaxListeners(100, stop.signal)
      const waiting = Array.from({ length: 100 }, () =>
        counted.withLock('name', async () => 'ran', { signal: stop.signal }).catch((error: unknown) => error),
      )
      await expect.poll(() => asked).toBeGreaterThan(3)
      stop.abort('left')
      expect(new Set(await Promise.all(waiting))).toEqual(new Set(['left']))
    })
    expect(most).toBe(1)
    // One waiter asks four times a second. All of them would have asked a hundred times at once.
    expect(asked).toBeLessThan(100)
  })

  test('stay until removed, or for ttlMs after their last write', async () => {
    const server = await ownRedis()
    const { client, storage } = await clients.ioredis(server.url, '')
    await storage.setItem('stays', 'x')
    expect(await client.pttl('{stays}')).toBe(-1)
    const expiring = redisStorage(client, { ttlMs: 60_000, prefix: 'app:' })
    for (const write of [1, 2]) {
      await expiring.setItem('goes', `${write}`)
      expect(await client.pttl('app:{goes}')).toBeGreaterThan(30_000)
      expect(await client.pttl('app:{goes}')).toBeLessThanOrEqual(60_000)
      await client.pexpire('app:{goes}', 1_000)
    }
    const brief = redisStorage(client, { ttlMs: 20 })
    await brief.withLock('brief', async () => brief.setItem('brief', 'x'))
    await expect.poll(() => brief.getItem('brief')).toBeNull()
  })

  test('a lock leaves nothing behind, and lasts 8 s while it is held', async () => {
    const server = await ownRedis()
    const { client, storage } = await clients.ioredis(server.url, 'app:')
    const restMs = (): Promise<number> => storage.withLock('name', () => client.pttl('app:{name}:lock'))
    // Some of it has passed when it is read; how much is up to the machine.
    await expect.poll(restMs).toBeGreaterThan(7_900)
    expect(await restMs()).toBeLessThanOrEqual(8_000)
    await storage.ready()
    expect(await client.keys('*')).toEqual([])
  })

  test('serve with a client that gives numbers as text; where nothing can be locked, ready says so', async () => {
    const server = await ownRedis()
    const client = new Redis(server.url, { stringNumbers: true })
    onTestFinished(() => client.disconnect())
    const storage = redisStorage(client)
    await storage.ready()
    await storage.withLock('name', async () => storage.setItem('name', 'value'))
    expect(await storage.getItem('name')).toBe('value')
    const deaf = redisStorage({ get: (key) => client.get(key), eval: async () => null })
    await expect(deaf.ready()).rejects.toMatchObject(retryable)
    const blind = redisStorage({
      get: () => Promise.reject(new Error('NOPERM')),
      eval: (script: string, count: number, ...rest: string[]) => client.eval(script, count, ...rest),
    })
    await expect(blind.ready()).rejects.toMatchObject(retryable)
    const mute = redisStorage({ get: () => Promise.reject(undefined), eval: () => Promise.reject(null) })
    await expect(mute.getItem('name')).rejects.toMatchObject(retryable)
  })

  test.each([
    ['READONLY You can’t write against a read only replica.', 'READONLY'],
    ['ERR Error running script (call to f_0): @user_script:1: @user_script: 1: -READONLY You can’t', 'READONLY'],
    ['ERR Error running script (call to f_0): @user_script:1: -OOM command not allowed', 'OOM'],
    ['MOVED 866 10.0.0.7:6379', 'MOVED'],
    ['Too many Cluster redirections. Last error: ReplyError: CLUSTERDOWN The cluster is down', 'CLUSTERDOWN'],
    ['ERR value of somebody: OOM', 'no code'],
  ])('the reason is found as Redis 7 and as Redis 6 say it: %s', async (message, reason) => {
    const storage = redisStorage({ get: async () => null, eval: () => Promise.reject(new Error(message)) })
    await expect(storage.setItem('name', 'value')).rejects.toMatchObject({
      ...retryable,
      message: expect.stringContaining(`(${reason})`),
    })
  })

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('ttlMs %d is refused', async (ttlMs) => {
    const server = await ownRedis()
    const { client } = await clients.ioredis(server.url)
    expect(() => redisStorage(client, { ttlMs })).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  })
})

describe('a Redis Cluster', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startRedis({ cluster: 'on' })
  })
  afterAll(() => server.stop())

  const open = {
    async ioredis(prefix: string) {
      const client = new Cluster([{ host: '127.0.0.1', port: server.port }])
      return { storage: redisStorage(client, { prefix }), close: async () => client.disconnect() }
    },
    async 'node-redis'(prefix: string) {
      const client = createCluster({ rootNodes: [{ url: server.url }] })
      client.on('error', () => {})
      await client.connect()
      return { storage: redisStorage(client, { prefix }), close: async () => client.destroy() }
    },
  }

  for (const kind of kinds)
    storageSuite(`redisStorage on a Cluster with ${kind}`, async () => {
      const { storage, close } = await open[kind](randomUUID())
      return { handle: () => storage, close }
    })

  test.each(kinds)(
    '%s: a task that lost its lock writes no more, and may write a record of another slot',
    async (kind) => {
      const prefix = randomUUID()
      const { storage, close } = await open[kind](prefix)
      onTestFinished(close)
      const admin = await onAdmin(server)
      await storage.withLock('name', async () => {
        await admin.del(`${prefix}{name}:lock`)
        await expect(storage.setItem('name', 'after the loss')).rejects.toMatchObject(retryable)
        await storage.setItem('another', 'of the app')
      })
      expect(await storage.getItem('name')).toBeNull()
      expect(await storage.getItem('another')).toBe('of the app')
    },
  )
})
