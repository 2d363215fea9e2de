import { doAgree, type SeenNode, viewOf } from './redis-cluster-view.ts'
import { plannedNodes, type RedisNode, type RedisNodeOptions, startRedisNode } from './redis-node.ts'
import { untilServer } from './until.ts'

/** A slot that moves: its new keys are made at the target, and those it had before are at the source. */
export interface SlotMove {
  readonly source: RedisNode
  /** Moves the keys of the slot to the target, so that `finish` loses none. */
  moveKeys(): Promise<void>
  /** Gives the slot to the target. */
  finish(): Promise<void>
}

export interface RedisCluster {
  /** The three masters of the start, then the replica of each in the same order. */
  readonly nodes: readonly RedisNode[]
  /** The nodes that a client can begin with. */
  readonly addresses: readonly { readonly host: string; readonly port: number }[]
  masterOf(key: string): Promise<RedisNode>
  replicaOf(master: RedisNode): Promise<RedisNode>
  /** Lets the replica of a master take its place without a loss. Resolves to the new master when all nodes know it. */
  failOver(master: RedisNode): Promise<RedisNode>
  /** Resolves when the replica of the master of a key has every write that was confirmed before. */
  replicated(key: string): Promise<void>
  /** Keeps the replica of a master from following it, until the function that it resolves to is called. */
  holdBackReplica(master: RedisNode): Promise<() => Promise<void>>
  /** Begins to move the slot of a key to another master. */
  startMove(key: string, target: RedisNode): Promise<SlotMove>
  /** Changes a setting of every running node, such as `min-replicas-to-write`. */
  configure(setting: string, value: string): Promise<void>
  /** Resolves when the running nodes serve all slots, agree about them, and their replicas follow. */
  settled(): Promise<void>
  stop(): Promise<void>
}

const masterCount = 3

/** Starts a Redis Cluster of three masters with one replica each. Takes about 3 s of waiting. */
export async function startRedisCluster(options: RedisNodeOptions = {}): Promise<RedisCluster> {
  const plan = await plannedNodes(masterCount)
  const starts = await Promise.allSettled(plan.map((node) => startRedisNode(node, plan, options)))
  const cluster = clusterOf(starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : [])))
  try {
    for (const start of starts) if (start.status === 'rejected') throw start.reason
    await cluster.settled()
  } catch (error) {
    await cluster.stop()
    throw error
  }
  return cluster
}

function clusterOf(nodes: readonly RedisNode[]): RedisCluster {
  const running = (): RedisNode[] => nodes.filter(({ state }) => state === 'running')
  const find = async (what: string, isIt: (seen: SeenNode) => boolean): Promise<RedisNode> => {
    const seen = (await viewOf(running()[0] as RedisNode)).find(isIt)
    const node = nodes.find(({ id }) => id === seen?.id)
    if (!node) throw new Error(`The Cluster has no ${what}.`)
    return node
  }
  const masterOf = async (key: string): Promise<RedisNode> => {
    const slot = Number(await running()[0]?.call('CLUSTER', 'KEYSLOT', key))
    return find('master of this slot', (seen) => seen.slots.some(([first, last]) => first <= slot && slot <= last))
  }
  const replicaOf = (master: RedisNode): Promise<RedisNode> =>
    find('replica of this master', ({ masterId }) => masterId === master.id)
  const settled = (): Promise<void> => untilServer('settle', () => doAgree(running()))
  return {
    nodes,
    addresses: nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
    masterOf,
    replicaOf,
    async failOver(master) {
      const next = await replicaOf(master)
      let askedMs = Number.NEGATIVE_INFINITY
      await untilServer('fail over', async () => {
        if (String(await next.call('INFO', 'replication')).includes('role:master')) return true
        // Redis gives up after 5 s if the nodes are too busy.
        if (performance.now() - askedMs < 6_000) return false
        askedMs = performance.now()
        await next.call('CLUSTER', 'FAILOVER')
        return false
      })
      await settled()
      return next
    },
    async replicated(key) {
      const master = await masterOf(key)
      // `WAIT` waits for what was written before the last command of its own connection.
      await master.call('PING')
      await untilServer('replicate', async () => Number(await master.call('WAIT', '1', '1000')) > 0)
    },
    async holdBackReplica(master) {
      const replica = await replicaOf(master)
      // The masters have no password, and refuse a replica that sends one.
      const sendPassword = (password: string) => replica.call('CONFIG', 'SET', 'masterauth', password)
      await sendPassword('none')
      await replica.call('CLIENT', 'KILL', 'TYPE', 'master')
      return async () => void (await sendPassword(''))
    },
    startMove: async (key, target) => startMove(key, await masterOf(key), target, running),
    async configure(setting, value) {
      await Promise.all(running().map((node) => node.call('CONFIG', 'SET', setting, value)))
    },
    settled,
    stop: async () => void (await Promise.all(nodes.map((node) => node.stop()))),
  }
}

async function startMove(
  key: string,
  source: RedisNode,
  target: RedisNode,
  running: () => readonly RedisNode[],
): Promise<SlotMove> {
  const slot = String(await source.call('CLUSTER', 'KEYSLOT', key))
  const setSlot = (node: RedisNode, ...args: string[]) => node.call('CLUSTER', 'SETSLOT', slot, ...args)
  await setSlot(target, 'IMPORTING', source.id)
  await setSlot(source, 'MIGRATING', target.id)
  return {
    source,
    async moveKeys() {
      for (;;) {
        const keys = (await source.call('CLUSTER', 'GETKEYSINSLOT', slot, '100')) as string[]
        if (keys.length === 0) return
        await source.call('MIGRATE', '127.0.0.1', String(target.port), '', '0', '5000', 'KEYS', ...keys)
      }
    },
    async finish() {
      await setSlot(target, 'NODE', target.id)
      await setSlot(source, 'NODE', target.id)
      await untilServer('know the new master of the slot', () => doAgree(running()))
    },
  }
}
