import { checkArgument, checkOptions, type OptionKinds } from '../config/options.ts'
import { AgentAuthError } from '../errors.ts'
import { leasedStorage, type RecordDatabase, type SharedStorage } from '../storage/shared/leased-storage.ts'
import { scripts } from './scripts.ts'

export type { SharedStorage } from '../storage/shared/leased-storage.ts'

/** What is used of a client of `ioredis`, single or Cluster. */
export interface IoRedisClient {
  /** Returns the value of a key. */
  get(key: string): Promise<string | null>
  /** Runs a Lua script. */
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
}

/** What is used of a client of `redis`, single, pool or Cluster. */
export interface NodeRedisClient {
  /** Tells this client from one of `ioredis`. */
  readonly isOpen: boolean
  /** Returns the value of a key. */
  get(key: string): Promise<string | null>
  /** Runs a Lua script. */
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
}

/** The options of `redisStorage`. */
export interface RedisStorageOptions {
  /** Goes before every key. Default: nothing, since keys of this library tell services, clients and people apart. */
  readonly prefix?: string | undefined
  /** How long a record lasts after its last write, in milliseconds. Default: until it is removed. */
  readonly ttlMs?: number | undefined
}

const optionKinds: OptionKinds<RedisStorageOptions> = { prefix: 'string', ttlMs: 'number' }

/**
 * Keeps records in Redis 6 or later, for any number of processes and machines, with a lock whose holder can write only
 * while it holds it. Also on a Cluster: a record and its lock share a slot. Throws `config_invalid`.
 */
export function redisStorage(
  client: IoRedisClient | NodeRedisClient,
  options: RedisStorageOptions = {},
): SharedStorage {
  checkArgument('client', client, { methods: ['get', 'eval'] })
  checkOptions('redisStorage', options, optionKinds)
  const { prefix = '', ttlMs } = options
  if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs > 0))
    throw new AgentAuthError('config_invalid', 'ttlMs must be a whole number of milliseconds above 0.')
  return leasedStorage(redisDatabase(client, prefix, ttlMs === undefined ? [] : ['PX', String(ttlMs)]))
}

function redisDatabase(client: IoRedisClient | NodeRedisClient, prefix: string, expiry: string[]): RecordDatabase {
  // Redis Cluster hashes what is in braces, so these two lie together.
  const keyOf = (key: string): string => `${prefix}{${key}}`
  const lockOf = (name: string): string => `${keyOf(name)}:lock`
  const run = async (script: string, keys: string[], ...args: string[]): Promise<boolean> =>
    Number(await evaluate(client, script, keys, args)) === 1
  const change = async (
    script: string,
    key: string,
    lease: { name: string; owner: string } | undefined,
    args: string[],
  ): Promise<boolean> => {
    if (!lease) return run(script, [keyOf(key)], '', ...args)
    const lock = lockOf(lease.name)
    try {
      return await run(script, [keyOf(key), lock], lease.owner, ...args)
    } catch (error) {
      if (!(error instanceof Error && /^CROSSSLOT/.test(error.message))) throw error
      // Another name's record in a Cluster: two steps are the most it can do.
      return (await run(scripts.check, [lock], lease.owner)) && run(script, [keyOf(key)], '', ...args)
    }
  }
  return {
    // A client may read from replicas, which lag behind: what is absent there ends no session. A script goes to the primary.
    read: async (key, from) =>
      (from === 'primary' ? null : await client.get(keyOf(key))) ??
      ((await evaluate(client, scripts.read, [keyOf(key)], [])) as string | null),
    write: (key, value, lease) => change(scripts.write, key, lease, [value, ...expiry]),
    remove: (key, lease) => change(scripts.remove, key, lease, []),
    removeIf: (key, value) => run(scripts.removeIf, [keyOf(key)], value),
    acquire: ({ name, owner }, leaseMs) => run(scripts.acquire, [lockOf(name)], owner, String(leaseMs)),
    renew: ({ name, owner }, leaseMs) => run(scripts.renew, [lockOf(name)], owner, String(leaseMs)),
    release: ({ name, owner }) => run(scripts.removeIf, [lockOf(name)], owner),
    reasonOf,
  }
}

async function evaluate(
  client: IoRedisClient | NodeRedisClient,
  script: string,
  keys: string[],
  args: string[],
): Promise<unknown> {
  return 'isOpen' in client
    ? client.eval(script, { keys, arguments: args })
    : client.eval(script, keys.length, ...keys, ...args)
}

/** Redis 6 says more before it when a script failed. */
const replies =
  /^(?:ERR Error running script \(call to \w+\): [@\w: ]*-)?(READONLY|MOVED|OOM|NOAUTH|NOPERM|WRONGPASS|LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MISCONF|NOREPLICAS|BUSY|CROSSSLOT|WRONGTYPE)\b/

function reasonOf(error: unknown): string | undefined {
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (typeof code === 'string' && /^E[A-Z_]{3,20}$/.test(code)) return code
  return replies.exec(String(message))?.[1]
}
