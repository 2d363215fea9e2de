import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import { freePort } from './free-port.ts'
import { type RedisServer, startRedis } from './redis-server.ts'

/** One server of a Cluster. `crash`, `halt`, `continue` and `restart` do what they do to a single Redis. */
export interface RedisNode extends RedisServer {
  /** The name by which the other nodes know it. */
  readonly id: string
  readonly state: 'running' | 'halted' | 'crashed'
  /** Sends a command to this node. */
  call(command: string, ...args: string[]): Promise<unknown>
}

export interface RedisNodeOptions {
  /** How long a node may be silent before the others replace it, in milliseconds. Default: 1,000. */
  readonly nodeTimeoutMs?: number
  /** Default `none`: a master that restarts before it was replaced has lost its records. */
  readonly persistence?: 'none' | 'every-write'
  /** Further settings of `redis.conf`. */
  readonly settings?: Readonly<Record<string, string>>
}

/** A node before it starts. */
export interface PlannedNode {
  readonly id: string
  readonly port: number
  readonly masterId?: string | undefined
  /** The slots of a master, from the first to the last. */
  readonly slots?: readonly [number, number]
  readonly epoch: number
}

const host = '127.0.0.1'
const slotCount = 16_384

/** Masters that share all slots, then one replica of each in the same order. */
export async function plannedNodes(masterCount: number): Promise<PlannedNode[]> {
  const plan: PlannedNode[] = []
  const bound = (part: number): number => Math.ceil((part * slotCount) / masterCount)
  for (let index = 0; index < 2 * masterCount; index++) {
    const part = index % masterCount
    const common = { id: randomBytes(20).toString('hex'), port: await freePort(), epoch: part + 1 }
    if (index < masterCount) plan.push({ ...common, slots: [bound(part), bound(part + 1) - 1] })
    else plan.push({ ...common, masterId: plan[part]?.id })
  }
  return plan
}

/** Starts a node with the file in which Redis keeps what a node knows, so that none has to be introduced to the others. */
export async function startRedisNode(
  node: PlannedNode,
  plan: readonly PlannedNode[],
  { nodeTimeoutMs = 1_000, persistence = 'none', settings }: RedisNodeOptions,
): Promise<RedisNode> {
  const server = await startRedis({
    port: node.port,
    persistence,
    files: { 'nodes.conf': knowledgeOf(node, plan) },
    settings: {
      'cluster-enabled': 'yes',
      'cluster-node-timeout': String(nodeTimeoutMs),
      // A replica may take over even if it was cut off from its master for long, as the one of a halted master is.
      'cluster-replica-validity-factor': '0',
      'cluster-allow-replica-migration': 'no',
      'repl-diskless-sync-delay': '0',
      'repl-ping-replica-period': '1',
      ...settings,
    },
  })
  return nodeOf(node.id, server)
}

function knowledgeOf(node: PlannedNode, plan: readonly PlannedNode[]): string {
  const lines = plan.map(({ id, port, masterId, slots, epoch }) => {
    const flags = `${id === node.id ? 'myself,' : ''}${masterId ? 'slave' : 'master'}`
    const owned = slots ? ` ${slots.join('-')}` : ''
    return `${id} ${host}:${port}@${port + 10_000} ${flags} ${masterId ?? '-'} 0 0 ${epoch} connected${owned}\n`
  })
  return `${lines.join('')}vars currentEpoch ${plan.length} lastVoteEpoch 0\n`
}

function nodeOf(id: string, server: RedisServer): RedisNode {
  let state: RedisNode['state'] = 'running'
  const client = new Redis(server.port, host, {
    lazyConnect: true,
    enableReadyCheck: false,
    retryStrategy: () => 50,
    commandTimeout: 10_000,
  })
  client.on('error', () => {})
  return {
    ...server,
    id,
    get state() {
      return state
    },
    call: (command, ...args) => client.call(command, ...args),
    async crash() {
      state = 'crashed'
      await server.crash()
    },
    halt() {
      state = 'halted'
      server.halt()
    },
    continue() {
      server.continue()
      state = 'running'
    },
    async restart() {
      await server.restart()
      state = 'running'
    },
    async stop() {
      client.disconnect()
      await server.stop()
    },
  }
}
