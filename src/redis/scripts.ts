/** The scripts run in Redis as one atomic step. KEYS: the record, then the lock that the owner must have, if any. */
const whileOwned = `if KEYS[2] and redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end`
const ifMine = `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end`

export const scripts: Readonly<Record<'read' | 'write' | 'remove' | 'acquire' | 'renew' | 'removeIf', string>> = {
  read: `return redis.call('GET', KEYS[1])`,
  write: `${whileOwned} redis.call('SET', KEYS[1], ARGV[2], unpack(ARGV, 3)) return 1`,
  remove: `${whileOwned} redis.call('DEL', KEYS[1]) return 1`,
  // A client that lost the response can ask twice.
  acquire: `if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end ${ifMine} return 1`,
  renew: `${ifMine} return redis.call('PEXPIRE', KEYS[1], ARGV[2])`,
  removeIf: `${ifMine} return redis.call('DEL', KEYS[1])`,
}
