// @module-tag redis

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { sessionName } from '../../src/session/record.ts'
import { patient } from '../support/patient.ts'
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts'
import type { RedisNode } from '../support/redis-node.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { onIoRedisCluster, onNodeRedisCluster, onNodeRedisClusterWithWait } from '../support/shared-stores.ts'

const hour = 3_600_000
const connect = { ioredis: onIoRedisCluster, 'node-redis': onNodeRedisCluster, WAIT: onNodeRedisClusterWithWait }
type Kind = keyof typeof connect
const kinds = ['ioredis', 'node-redis'] as const

/** So long that a busy machine does not take a slow node for a lost one. */
const nodeTimeoutMs = 15_000

let cluster: RedisCluster
beforeAll(async () => {
  cluster = await startRedisCluster({ nodeTimeoutMs })
})
afterAll(() => cluster.stop())

/** A storage over a client of its own. */
async function storageOf(kind: Kind, prefix: string) {
  const { storage, close } = await connect[kind](cluster.addresses, prefix)
  onTestFinished(close)
  return storage
}

/** A session in two processes, each with a client of its own, and the key of its record. */
async function twoProcesses(kind: Kind) {
  const prefix = randomUUID()
  const rig = sessionRig()
  const [here, there] = [
    rig.realm({ storage: await storageOf(kind, prefix) }),
    rig.realm({ storage: await storageOf(kind, prefix) }),
  ]
  return { ...rig, here, there, key: `${prefix}{${sessionName(here.config, 'default')}}` }
}

type TwoProcesses = Awaited<ReturnType<typeof twoProcesses>>

async function signIn({ service, here, there }: TwoProcesses): Promise<void> {
  await here.session.signIn(service.issue())
  expect((await there.session.ready()).status).toBe('signed-in')
}

/** Lets the token expire and asks both for one. Returns what they got. */
async function afterExpiry({ clock, here, there }: TwoProcesses): Promise<unknown[]> {
  clock.advance(hour)
  return Promise.all([here, there].map(({ session }) => codeOf(session.getAccessToken())))
}

async function expectOneRefresh(processes: TwoProcesses): Promise<void> {
  const before = processes.service.sent.length
  const [one, two] = await afterExpiry(processes)
  expect(one).toEqual({ resolved: expect.any(String) })
  expect(two).toEqual(one)
  expect(processes.service.sent).toHaveLength(before + 1)
}

function expectNoneEnded({ here, there }: TwoProcesses): void {
  for (const { session, eventsOf } of [here, there]) {
    expect(session.state.status).toBe('signed-in')
    expect(eventsOf('session_ended')).toEqual([])
  }
}

/** A master that does not have the slot of this key. */
async function otherMaster(key: string): Promise<RedisNode> {
  const source = await cluster.masterOf(key)
  const masters = await Promise.all(Array.from({ length: 20 }, (_, index) => cluster.masterOf(`${index}`)))
  return masters.find(({ id }) => id !== source.id) as RedisNode
}

/** How many scripts a node has refused because their keys were on different nodes. */
async function refusedScripts(node: RedisNode): Promise<number> {
  return Number(/errorstat_TRYAGAIN:count=(\d+)/.exec(String(await node.call('INFO', 'errorstats')))?.[1] ?? 0)
}

describe.each(kinds)('a session in a Redis Cluster of three masters, through %s', (kind) => {
  test('is refreshed once by two processes, and a sign-out in one ends it in both', async () => {
    patient()
    const processes = await twoProcesses(kind)
    await signIn(processes)
    await expectOneRefresh(processes)
    await processes.here.session.signOut()
    processes.clock.advance(2_000)
    expect(await codeOf(processes.there.session.getAccessToken())).toBe('login_required')
    expect(await (await cluster.masterOf(processes.key)).call('EXISTS', processes.key)).toBe(0)
  })

  test('lives on while its slot moves: a save waits until record and lock are on one node', async () => {
    patient()
    const processes = await twoProcesses(kind)
    await signIn(processes)
    const target = await otherMaster(processes.key)
    const move = await cluster.startMove(processes.key, target)
    const refusedBefore = await refusedScripts(move.source)
    const refreshing = expectOneRefresh(processes)
    // The lock is new, so that it is at the target already.
    await expect.poll(() => refusedScripts(move.source), { interval: 10 }).toBeGreaterThan(refusedBefore)
    await move.moveKeys()
    await refreshing
    await expectOneRefresh(processes)
    await move.finish()
    expect(await target.call('EXISTS', processes.key)).toBe(1)
    await expectOneRefresh(processes)
    expectNoneEnded(processes)
  })

  test('lives on after a clean failover', async () => {
    patient()
    const processes = await twoProcesses(kind)
    await signIn(processes)
    await cluster.failOver(await cluster.masterOf(processes.key))
    await expectOneRefresh(processes)
    expectNoneEnded(processes)
  })
})

test('a slot that stays half moved: a write that needs both nodes fails in time, and can be repeated', async () => {
  const prefix = randomUUID()
  const key = `${prefix}{name}`
  const move = await cluster.startMove(key, await otherMaster(key))
  const storages = await Promise.all(kinds.map((kind) => storageOf(kind, prefix)))
  const writes = storages.map(async (storage) => {
    const write = storage.withLock('name', () => storage.setItem('name', 'value'))
    await expect(write).rejects.toMatchObject({ code: 'storage_failed', retryable: true })
  })
  await Promise.all(writes)
  await move.moveKeys()
  await move.finish()
  for (const storage of storages) {
    await storage.withLock('name', () => storage.setItem('name', 'value'))
    expect(await storage.getItem('name')).toBe('value')
  }
})

test('a master that is killed: calls fail within 8 s and can be repeated, no user is signed out, and both clients serve after the failover', async () => {
  const sessions = await Promise.all(kinds.map((kind) => twoProcesses(kind)))
  for (const each of sessions) await signIn(each)
  const [{ key }] = sessions as [TwoProcesses]
  await cluster.replicated(key)
  const lost = await cluster.masterOf(key)
  await cluster.configure('cluster-node-timeout', '1000')
  await lost.crash()
  for (const each of sessions) {
    const startMs = performance.now()
    const outcomes = await afterExpiry(each)
    // Two operations wait 2.75 s each, and a third one would make it 8.25 s.
    expect(performance.now() - startMs).toBeLessThan(8_000)
    for (const outcome of outcomes) expect(['storage_failed', { resolved: expect.any(String) }]).toContainEqual(outcome)
  }
  await cluster.settled()
  await cluster.configure('cluster-node-timeout', String(nodeTimeoutMs))
  expect((await cluster.masterOf(key)).id).not.toBe(lost.id)
  for (const each of sessions) {
    // A client notices a new master only when a call fails.
    await expect.poll(async () => (await afterExpiry(each)).every((outcome) => typeof outcome === 'object')).toBe(true)
    await expectOneRefresh(each)
    expectNoneEnded(each)
  }
  await lost.restart()
  await cluster.settled()
})

test('a write that no replica has is lost with its master if the client did not ask for WAIT, and rejects if it did', async () => {
  const prefix = randomUUID()
  const key = `${prefix}{name}`
  const [storage, waiting] = await Promise.all([storageOf('node-redis', prefix), storageOf('WAIT', prefix)])
  // WAIT gives up after a second if the replica is late.
  await expect.poll(() => codeOf(waiting.setItem('name', 'first'))).toEqual({ resolved: undefined })
  const master = await cluster.masterOf(key)
  const follow = await cluster.holdBackReplica(master)
  await expect(waiting.setItem('name', 'rejected')).rejects.toMatchObject({ code: 'storage_failed', retryable: true })
  await storage.setItem('name', 'confirmed')
  await cluster.configure('cluster-node-timeout', '1000')
  await master.crash()
  await follow()
  await cluster.settled()
  await cluster.configure('cluster-node-timeout', String(nodeTimeoutMs))
  // A client notices a new master only when a call fails.
  await expect.poll(() => storage.getItem('name').catch(() => 'failed')).toBe('first')
  await master.restart()
  await cluster.settled()
})
