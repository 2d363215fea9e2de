import { setTimeout as sleep } from 'node:timers/promises'
import type { AtEnd } from '../../support/children.ts'
import type { PostgresNode } from '../../support/postgres-node.ts'
import { promote, startPrimary, startStandby } from '../../support/postgres-replica.ts'
import { type RedisCluster, startRedisCluster } from '../../support/redis-cluster.ts'
import type { RedisNode } from '../../support/redis-node.ts'
import type { Rig, Strike } from './nemeses.ts'
import { postgresUnderFaults, type StoreUnderFaults } from './stores.ts'

export type ClusterNemesisName =
  | 'failover'
  | 'master-killed'
  | 'master-paused'
  | 'replica-behind'
  | 'slot-moved'
  | 'min-replicas'

/** How long before a fault a confirmed write may still not have reached the replica, in milliseconds. */
const lagMs = 1_000

/** So long that a busy machine does not take a slow node for a lost one, and so short that a lost one is soon replaced, in milliseconds. */
const [slowNodeMs, lostNodeMs] = [5_000, 1_000]

/** The faults of a Redis Cluster of three masters and three replicas. */
export async function clusterUnderFaults(
  atEnd: AtEnd,
): Promise<{ cluster: RedisCluster; strikes: Readonly<Record<ClusterNemesisName, Strike>> }> {
  const cluster = await startRedisCluster({ nodeTimeoutMs: slowNodeMs })
  atEnd(() => cluster.stop())
  const anyMaster = ({ random }: Rig): Promise<RedisNode> => cluster.masterOf(String(random.between(0, 1_000_000)))
  /** Takes a master away after a refresh was answered, until another one has its place. */
  async function whileLost(rig: Rig, lose: (master: RedisNode) => unknown, giveBack: (master: RedisNode) => unknown) {
    const master = await anyMaster(rig)
    const timeOut = (ms: number): Promise<void> => cluster.configure('cluster-node-timeout', String(ms))
    await timeOut(lostNodeMs)
    await rig.service.refreshed()
    await lose(master)
    await cluster.settled()
    await giveBack(master)
    await cluster.settled()
    await timeOut(slowNodeMs)
  }
  const strikes: Record<ClusterNemesisName, Strike> = {
    failover: {
      name: 'failover',
      losesSinceMs: lagMs,
      mayCost: 1,
      async strike(rig) {
        await cluster.failOver(await anyMaster(rig))
      },
    },
    'master-killed': {
      name: 'master-killed',
      losesSinceMs: lagMs,
      mayCost: 100,
      strike: (rig) =>
        whileLost(
          rig,
          (master) => master.crash(),
          (master) => master.restart(),
        ),
    },
    'master-paused': {
      name: 'master-paused',
      losesSinceMs: lagMs,
      mayCost: 100,
      strike: (rig) =>
        whileLost(
          rig,
          (master) => master.halt(),
          (master) => master.continue(),
        ),
    },
    'replica-behind': {
      name: 'replica-behind',
      losesSinceMs: lagMs,
      // Each session that changed at the lost master can be affected.
      mayCost: 10_000,
      async strike(rig) {
        const lose = async (master: RedisNode): Promise<void> => {
          const follow = await cluster.holdBackReplica(master)
          await sleep(rig.faultMs / 2)
          await master.crash()
          await follow()
        }
        await whileLost(rig, lose, (master) => master.restart())
      },
    },
    'slot-moved': {
      name: 'slot-moved',
      async strike(rig) {
        const key = String(rig.random.between(0, 1_000_000))
        const source = await cluster.masterOf(key)
        const masters = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((each) => cluster.masterOf(each)))
        const target = masters.find(({ id }) => id !== source.id)
        if (!target) return
        const move = await cluster.startMove(key, target)
        await sleep(rig.faultMs / 4)
        await move.moveKeys()
        await move.finish()
      },
    },
    'min-replicas': {
      name: 'min-replicas',
      async strike(rig) {
        const replica = await cluster.replicaOf(await anyMaster(rig))
        await cluster.configure('min-replicas-max-lag', '2')
        await cluster.configure('min-replicas-to-write', '1')
        replica.halt()
        await sleep(rig.faultMs + 2_000)
        replica.continue()
        await cluster.settled()
        await cluster.configure('min-replicas-to-write', '0')
      },
    },
  }
  return { cluster, strikes }
}

/** A PostgreSQL with a standby. Each strike promotes the standby while the old primary goes on for ten seconds. `before`: the primary of the start. */
export async function promotionsUnderFaults(
  atEnd: AtEnd,
): Promise<{ url: string; before: StoreUnderFaults; strike: Strike }> {
  let primary = await started(atEnd, startPrimary())
  let standby = await started(atEnd, startStandby(primary))
  const { url } = primary
  const before = await postgresUnderFaults(atEnd, url)
  return {
    url,
    before,
    strike: {
      name: 'promotion',
      losesSinceMs: lagMs,
      // Each session that changed at the old primary can be affected.
      mayCost: 10_000,
      async strike({ random, ways }) {
        await promote(standby)
        const moved = ways.filter(() => random.fraction() < 0.5)
        for (const way of moved) switchTo(way, standby)
        await sleep(10_000)
        for (const way of ways.filter((each) => !moved.includes(each))) switchTo(way, standby)
        await primary.crash()
        primary = standby
        standby = await started(atEnd, startStandby(primary))
      },
    },
  }
}

function switchTo(way: Rig['ways'][number], node: PostgresNode): void {
  way.moveTo(node.port)
  way.cut()
}

async function started(atEnd: AtEnd, starting: Promise<PostgresNode>): Promise<PostgresNode> {
  const node = await starting
  atEnd(() => node.stop())
  return node
}
