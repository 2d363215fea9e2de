import { sleep } from '../internal/timeouts.ts'
import { checkMethods, checkNames } from '../internal/values.ts'
import { checkTtlMs, leasedStorage, type RecordDatabase, type SharedStorage } from '../storage/shared/leased-storage.ts'
import { networkCode } from '../storage/shared/network-code.ts'

/** How often a write to Redis is repeated while a Cluster moves its slot, and for how long, in milliseconds: less than the time limit. */
const slotMoveLimits = { pauseMs: 50, maxWaitMs: 2_500 } as const

export type { SharedStorage } from '../storage/shared/leased-storage.ts'

/** The methods of an `ioredis` client, single or Cluster, that the storage calls. */
export interface IoRedisClient {
  /** Returns the value of a key. */
  get(key: string): Promise<string | null>
  /** Runs a Lua script. */
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
}

/** The methods of a `redis` client, single, pool or Cluster, that the storage calls. */
export interface NodeRedisClient {
  /** Distinguishes this client from one of `ioredis`. */
  readonly isOpen: boolean
  /** Returns the value of a key. */
  get(key: string): Promise<string | null>
  /** Runs a Lua script. */
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
}

/** The options of `redisStorage`. */
export interface RedisStorageOptions {
  /** Text before every key. Default: none, because the keys already name service, client and session. */
  readonly prefix?: string | undefined
  /** Sets how long a record lasts after its last write, in milliseconds. Default: until it is removed. */
  readonly ttlMs?: number | undefined
}

/**
 * Creates a storage in Redis 6 or later, single or Cluster, that processes and machines share. Only the lock owner can write
 * within a lock. Throws `config_invalid`.
 */
export function redisStorage(
  client: IoRedisClient | NodeRedisClient,
  options: RedisStorageOptions = {},
): SharedStorage {
  checkMethods('client', client, ['get', 'eval'])
  const { prefix = '', ttlMs } = checkNames('redisStorage', options, ['prefix', 'ttlMs'])
  checkTtlMs(ttlMs)
  return leasedStorage(redisDatabase(client, prefix, ttlMs === undefined ? [] : ['PX', String(ttlMs)]))
}

function redisDatabase(client: IoRedisClient | NodeRedisClient, prefix: string, expiry: string[]): RecordDatabase {
  // Redis Cluster hashes the text in braces, so that a record and its lock share a slot.
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
    return onceKeysMeet(() => run(script, [keyOf(key), lockOf(lease.name)], lease.owner, ...args))
  }
  return {
    // A client can read from replicas, which lag behind. A record that is absent there is read again by a script, on the primary.
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

/** The scripts run in Redis as one atomic step. KEYS: the record, then the lock that the owner must have, if any. */
const whileOwned = `if KEYS[2] and redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end`
const ifMine = `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end`

const scripts = {
  read: `return redis.call('GET', KEYS[1])`,
  write: `${whileOwned} redis.call('SET', KEYS[1], ARGV[2], unpack(ARGV, 3)) return 1`,
  remove: `${whileOwned} redis.call('DEL', KEYS[1]) return 1`,
  // A client that lost the response can ask twice.
  acquire: `if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end ${ifMine} return 1`,
  renew: `${ifMine} return redis.call('PEXPIRE', KEYS[1], ARGV[2])`,
  removeIf: `${ifMine} return redis.call('DEL', KEYS[1])`,
}

/** The refusals that end with the move of a slot. ioredis follows them in turn and reports the last one. */
const untilKeysMeet = ['TRYAGAIN', 'ASK', 'MOVED']

/**
 * Runs a script of two keys. Repeats it while a Cluster moves their slot (`slotMoveLimits.pauseMs`, 50 ms between, for
 * `slotMoveLimits.maxWaitMs`, 2,500 ms), because it refuses the script as long as the keys are on different nodes.
 */
async function onceKeysMeet<T>(script: () => Promise<T>): Promise<T> {
  const endMs = performance.now() + slotMoveLimits.maxWaitMs
  for (;;) {
    try {
      return await script()
    } catch (error) {
      if (!untilKeysMeet.includes(reasonOf(error) ?? '') || performance.now() > endMs) throw error
      await sleep(slotMoveLimits.pauseMs)
    }
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

/**
 * The names of Redis' own errors, which it sends only as text. Redis 6 puts text before them if a script failed, and ioredis if it
 * gave up.
 */
const replies =
  /^(?:ERR Error running script \(call to \w+\): [@\w: ]*-|Too many Cluster redirections\. Last error: \w+: )?(READONLY|MOVED|ASK|OOM|NOAUTH|NOPERM|WRONGPASS|LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MISCONF|NOREPLICAS|BUSY|CROSSSLOT|WRONGTYPE)\b/

function reasonOf(error: unknown): string | undefined {
  return networkCode(error) ?? replies.exec(String((error as { message?: unknown }).message))?.[1]
}
