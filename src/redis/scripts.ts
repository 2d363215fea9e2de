/** What runs inside Redis, each as one atomic step. KEYS: what is changed, then the lock that must be held, if any. */
const whileHeld = `if KEYS[2] and redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end`
const ifMine = `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end`

export const scripts: Readonly<
  Record<'read' | 'write' | 'remove' | 'check' | 'acquire' | 'renew' | 'removeIf', string>
> = {
  read: `return redis.call('GET', KEYS[1])`,
  write: `${whileHeld} redis.call('SET', KEYS[1], ARGV[2], unpack(ARGV, 3)) return 1`,
  remove: `${whileHeld} redis.call('DEL', KEYS[1]) return 1`,
  check: `${ifMine} return 1`,
  // A client that lost the answer may ask twice.
  acquire: `if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end ${ifMine} return 1`,
  renew: `${ifMine} return redis.call('PEXPIRE', KEYS[1], ARGV[2])`,
  removeIf: `${ifMine} return redis.call('DEL', KEYS[1])`,
}
