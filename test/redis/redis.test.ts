// @module-tag redis
// @module-tag slow

import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { encryptedStorage } from 'agent-auth'
import { redisStorage } from 'agent-auth/redis'
import { Cluster, Redis } from 'ioredis'
import { createCluster } from 'redis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { sessionName } from '../../src/session/record.ts'
import { storageSuite } from '../storage/storage-suite.ts'
import { type RedisOptions, type RedisServer, startRedis } from '../support/redis-server.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { onIoRedis, onNodeRedis } from '../support/shared-stores.ts'
import { silentWay } from '../support/silent-way.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'

const hour = 3_600_000

async function ownRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const server = await startRedis(options)
  onTestFinished(() => server.stop())
  return server
}

/** A storage of each kind of client, closed with the test. */
const clients = {
  async ioredis(url: string, prefix?: string) {
    const connected = await onIoRedis(url, prefix)
    onTestFinished(connected.close)
    return connected
  },
  async 'node-redis'(url: string, prefix?: string) {
    const connected = await onNodeRedis(url, prefix)
    onTestFinished(connected.close)
    return connected
  },
}
type Kind = keyof typeof clients
const kinds = Object.keys(clients) as Kind[]

/** Somebody signed in, over a Redis of this test's own. */
async function signedIn(kind: Kind, options?: RedisOptions) {
  const server = await ownRedis(options)
  const { storage } = await clients[kind](server.url)
  const rig = sessionRig()
  const realm = rig.realm({ storage })
  const tokens = rig.service.issue()
  await realm.session.signIn(tokens)
  return { ...rig, ...realm, server, storage, tokens, admin: await onAdmin(server) }
}

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

async function onAdmin(server: RedisServer): Promise<Redis> {
  const { client, close } = await onIoRedis(server.url)
  onTestFinished(close)
  return client
}

/** How many scripts this Redis has run. */
async function scriptsRun(admin: Redis): Promise<number> {
  const counts = (await admin.info('commandstats')).matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
}

const retryable = { code: 'storage_failed', retryable: true }

describe.each(kinds)('Redis that fails, seen through %s', (kind) => {
  test('killed: the token at hand serves, then a retryable error, no user signed out; back by itself after a restart [D-33]', async () => {
    const { clock, service, session, server, storage, tokens, eventsOf } = await signedIn(kind, {
      persistence: 'every-write',
    })
    await server.crash()
    clock.advance(2_000)
    expect(await session.getAccessToken()).toBe(tokens.accessToken)
    expect(eventsOf('storage_degraded')).toMatchObject([{ type: 'storage_degraded', reason: 'read_failed' }])
    clock.advance(hour)
    await expect(session.getAccessToken()).rejects.toMatchObject(retryable)
    await expect(storage.ready()).rejects.toMatchObject(retryable)
    expect(service.sent).toHaveLength(0)

    await server.restart()
    await expect.poll(() => codeOf(storage.ready())).toEqual({ resolved: undefined })
    clock.advance(60_000)
    expect(service.familyOf(await session.getAccessToken())).toBe(1)
    expect(service.sent).toHaveLength(1)
    expect(session.state.status).toBe('signed-in')
    expect(eventsOf('session_ended')).toEqual([])
  })

  test('killed between the refresh and the save: the new token serves, and is saved once Redis is back [C-065 D-33]', async () => {
    const { clock, service, session, server, storage, realm, config } = await signedIn(kind, {
      persistence: 'every-write',
    })
    clock.advance(hour)
    const release = service.hold()
    const call = session.getAccessToken()
    await expect.poll(() => service.sent.length).toBe(1)
    await server.crash()
    release()
    const token = await call
    await server.restart()
    await expect.poll(() => codeOf(storage.ready())).toEqual({ resolved: undefined })
    // The lease of before the crash was kept as well, and must end first.
    const saved = async () => {
      clock.advance(5_000)
      expect(await session.getAccessToken()).toBe(token)
      return storage.getItem(sessionName(config, 'default'))
    }
    await expect.poll(saved, { interval: 500 }).toContain(token)
    expect(await realm({ storage }).session.getAccessToken()).toBe(token)
    expect(service.sent).toHaveLength(1)
  })

  test('killed while the token has expired: the call fails within 6 s [D-33 C-072]', async () => {
    const { clock, service, session, server } = await signedIn(kind)
    await server.crash()
    clock.advance(hour)
    for (let call = 0; call < 2; call++) {
      const startMs = performance.now()
      await expect(session.getAccessToken()).rejects.toMatchObject(retryable)
      // Two operations wait 2.75 s each; a third one would make it 8.25 s.
      expect(performance.now() - startMs).toBeLessThan(8_000)
      clock.advance(60_000)
    }
    expect(service.sent).toHaveLength(0)
  })

  test('flushed: one store_lost, no loop, and a new sign-in works [C-068 D-33]', async () => {
    const { clock, service, session, admin, eventsOf } = await signedIn(kind)
    await admin.flushall()
    clock.advance(2_000)
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
    expect(eventsOf('session_ended')).toEqual([{ type: 'session_ended', reason: 'store_lost' }])
    const next = service.issue()
    await session.signIn(next)
    expect(await session.getAccessToken()).toBe(next.accessToken)
    expect(service.sent).toHaveLength(0)
  })

  test('slow: no operation waits longer than 2.75 s for it, and it recovers [D-33]', async () => {
    const { clock, session, server, tokens, storage } = await signedIn(kind)
    server.halt()
    clock.advance(2_000)
    const startMs = performance.now()
    expect(await session.getAccessToken()).toBe(tokens.accessToken)
    const tookMs = performance.now() - startMs
    server.continue()
    // One operation was waited for; a second one would make it 5.5 s.
    expect(tookMs).toBeGreaterThan(2_500)
    expect(tookMs).toBeLessThan(5_250)
    await expect.poll(() => codeOf(storage.ready())).toEqual({ resolved: undefined })
    clock.advance(2_000)
    expect(await session.getAccessToken()).toBe(tokens.accessToken)
  })

  test.each([
    ['min-replicas-to-write', '1', 'NOREPLICAS'],
    ['maxmemory', '1', 'OOM'],
  ])(
    'that refuses writes (%s): its reason is in the message, its text is not [D-33]',
    async (setting, value, reason) => {
      const { clock, session, admin, storage, tokens, eventsOf } = await signedIn(kind)
      await admin.config('SET', setting, value)
      const failure = await storage.setItem('name', 'secret of somebody').catch((error: unknown) => error)
      expect(failure).toMatchObject(retryable)
      expect((failure as Error).message).toContain(`(${reason})`)
      expect((failure as Error).message).not.toContain('secret')
      expect((failure as Error).cause).toBeUndefined()
      clock.advance(2_000)
      expect(await session.getAccessToken()).toBe(tokens.accessToken)
      expect(eventsOf('session_ended')).toEqual([])
    },
  )
})

test('a lock whose release Redis refuses ends with its lease of 8 s [C-073]', async () => {
  const server = await ownRedis()
  const prefix = randomUUID()
  const { storage } = await clients.ioredis(server.url, prefix)
  const admin = await onAdmin(server)
  await storage.withLock('name', async () => {
    await admin.config('SET', 'min-replicas-to-write', '1')
  })
  const leftMs = await admin.pttl(`${prefix}{name}:lock`)
  expect(leftMs).toBeGreaterThan(0)
  expect(leftMs).toBeLessThanOrEqual(8_000)
})

describe.each(kinds)('a lock in Redis that is lost, seen through %s', (kind) => {
  const storages = async () => {
    const server = await ownRedis()
    const prefix = randomUUID()
    const [one, two] = [await clients[kind](server.url, prefix), await clients[kind](server.url, prefix)]
    const admin = await onAdmin(server)
    const loseLock = (name: string): Promise<number> => admin.del(`${prefix}{${name}}:lock`)
    return { one: one.storage, two: two.storage, admin, loseLock, prefix }
  }

  test('the holder can neither write nor remove, also when no other process has taken it [C-073 D-33]', async () => {
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

  test('two holders after a failover: one commit, that of the one who has the lock [C-056 C-073]', async () => {
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

  test('a lock whose answer was lost on the way is had when it is asked for again [D-33 C-072]', async () => {
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

  test('the loser does not free the lock of the next holder [C-073]', async () => {
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

  test('the loser does not prolong the lock of the next holder [C-073]', async () => {
    const { one, admin, prefix } = await storages()
    await one.withLock('name', async () => {
      await admin.set(`${prefix}{name}:lock`, 'the next holder', 'PX', hour)
      const before = await scriptsRun(admin)
      // Now a renewal has come; had it counted, 8 s would be left.
      await expect.poll(() => scriptsRun(admin)).toBeGreaterThan(before)
      expect(await admin.pttl(`${prefix}{name}:lock`)).toBeGreaterThan(8_000)
    })
    expect(await admin.get(`${prefix}{name}:lock`)).toBe('the next holder')
  })

  test('what a task left running cannot write after its turn [C-073]', async () => {
    const { one } = await storages()
    let end = (): void => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    let late: Promise<unknown> | undefined
    await one.withLock('name', async () => {
      late = ended.then(() => codeOf(one.setItem('name', 'late')))
    })
    end()
    expect(await late).toBe('storage_failed')
    expect(await one.getItem('name')).toBeNull()
    await one.setItem('name', 'outside of any lock')
  })

  test('the same through a sealed storage [C-061 C-073]', async () => {
    const { one, loseLock } = await storages()
    const storage = encryptedStorage(one, { keys: [{ id: 'a', key: new Uint8Array(32) }] })
    await storage.withLock?.('name', async () => {
      await storage.setItem('name', 'while held')
      await loseLock('name')
      await expect(storage.setItem('name', 'after the loss')).rejects.toMatchObject(retryable)
    })
    expect(await storage.getItem('name')).toBe('while held')
  })

  test('another record under the same lock is guarded as well [C-073]', async () => {
    const { one, loseLock } = await storages()
    await one.withLock('name', async () => {
      await one.setItem('another', 'while held')
      await loseLock('name')
      await expect(one.setItem('another', 'after the loss')).rejects.toMatchObject(retryable)
    })
    expect(await one.getItem('another')).toBe('while held')
  })
})

describe('records in Redis', () => {
  test('are read from the primary inside a lock, even through a client that reads from a replica that lags [C-070 D-33]', async () => {
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

  test('are not taken for gone because a replica has not heard of them yet [C-068 D-33]', async () => {
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

  test('a lock is asked for by one waiter of each process, however many there are [C-072]', async () => {
    const server = await ownRedis()
    const { client } = await clients.ioredis(server.url)
    const prefix = randomUUID()
    const { storage: elsewhere } = await clients.ioredis(server.url, prefix)
    let asked = 0
    const counted = redisStorage(
      {
        get: (key) => client.get(key),
        eval(script: string, count: number, ...rest: string[]) {
          asked += 1
          return client.eval(script, count, ...rest)
        },
      },
      { prefix },
    )
    await elsewhere.withLock('name', async () => {
      const stop = new AbortController()
      setMaxListeners(100, stop.signal)
      const waiting = Array.from({ length: 100 }, () =>
        codeOf(counted.withLock('name', async () => 'ran', { signal: stop.signal })),
      )
      await expect.poll(() => asked).toBeGreaterThan(3)
      stop.abort()
      expect(new Set(await Promise.all(waiting))).toEqual(new Set(['aborted']))
    })
    expect(asked).toBeLessThan(20)
  })

  test('stay until removed, or for ttlMs after their last write [C-056]', async () => {
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

  test('a lock leaves nothing behind, and lasts 8 s while it is held [C-072]', async () => {
    const server = await ownRedis()
    const { client, storage } = await clients.ioredis(server.url, 'app:')
    const restMs = (): Promise<number> => storage.withLock('name', () => client.pttl('app:{name}:lock'))
    // Some of it has passed when it is read; how much is up to the machine.
    await expect.poll(restMs).toBeGreaterThan(7_900)
    expect(await restMs()).toBeLessThanOrEqual(8_000)
    await storage.ready()
    expect(await client.keys('*')).toEqual([])
  })

  test('serve with a client that gives numbers as text; where nothing can be locked, ready says so [D-33 C-056]', async () => {
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
  ])('the reason is found as Redis 7 and as Redis 6 say it: %s [D-33]', async (message, reason) => {
    const storage = redisStorage({ get: async () => null, eval: () => Promise.reject(new Error(message)) })
    await expect(storage.setItem('name', 'value')).rejects.toMatchObject({
      ...retryable,
      message: expect.stringContaining(`(${reason})`),
    })
  })

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('ttlMs %d is refused [C-056]', async (ttlMs) => {
    const server = await ownRedis()
    const { client } = await clients.ioredis(server.url)
    expect(() => redisStorage(client, { ttlMs })).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  })
})

test('gone without a word: with socketTimeout ioredis serves again once the address does [D-33]', async () => {
  const server = await ownRedis()
  const way = await silentWay(server.port)
  const client = new Redis(way.port, '127.0.0.1', { socketTimeout: 3_500 })
  client.on('error', () => {})
  onTestFinished(() => client.disconnect())
  const storage = redisStorage(client)
  await storage.setItem('name', 'value')
  way.silence()
  await expect(storage.getItem('name')).rejects.toMatchObject(retryable)
  await expect.poll(() => codeOf(storage.getItem('name'))).toEqual({ resolved: 'value' })
})

test('standing still while a sign-in is saved: a sign-out elsewhere is not undone [C-074 I-4 D-33]', async () => {
  const server = await ownRedis()
  const { client, storage: elsewhere } = await clients.ioredis(server.url, '')
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
  expect(here.eventsOf('storage_degraded')).toMatchObject([{ type: 'storage_degraded', reason: 'write_failed' }])
  expect((await there.session.ready()).status).toBe('signed-in')
  await there.session.signOut()
  for (let call = 0; call < 2; call++) {
    clock.advance(6_000)
    expect(await codeOf(here.session.getAccessToken())).toBe('login_required')
  }
  expect(await client.keys('*')).toEqual([])
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
    '%s: a lost lock refuses the write to its own record, and to one of another slot [C-073]',
    async (kind) => {
      const prefix = randomUUID()
      const { storage, close } = await open[kind](prefix)
      onTestFinished(close)
      const admin = await onAdmin(server)
      await storage.withLock('name', async () => {
        await storage.setItem('another', 'while held')
        await admin.del(`${prefix}{name}:lock`)
        await expect(storage.setItem('name', 'after the loss')).rejects.toMatchObject(retryable)
        await expect(storage.setItem('another', 'after the loss')).rejects.toMatchObject(retryable)
        await expect(storage.removeItem('another')).rejects.toMatchObject(retryable)
      })
      expect(await storage.getItem('name')).toBeNull()
      expect(await storage.getItem('another')).toBe('while held')
    },
  )
})
