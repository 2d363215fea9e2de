import { randomBytes, scrypt } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { credentialLimits } from '../limits.ts'
import { isSecret, keyedHash, randomSecret, sameText } from './tokens.ts'

/** One bounded line for slow hashes, each of which takes a third of a second of a processor. */
interface HashLine {
  /**
   * Runs `work` in its turn. A hash that the service stores is `kept`: it always waits. An `attempt` returns `busy` at once if the line is
   * full, and after `refuseWaiting`.
   */
  run<Value>(kind: 'kept' | 'attempt', work: () => Promise<Value>): Promise<Value | 'busy'>
  /** Returns `busy` to every attempt that waits, so that the process can end. */
  refuseWaiting(): void
}

/** Leaves one processor, and one of the four threads of Node's pool, to other work. */
const standardAtOnce = Math.max(1, Math.min(3, availableParallelism() - 1))

function createHashLine(atOnce: number = standardAtOnce): HashLine {
  let waiting: { kind: 'kept' | 'attempt'; begin(turn: 'go' | 'busy'): void }[] = []
  let running = 0
  let isRefusing = false

  function free(): void {
    const next = waiting.shift()
    if (next === undefined) running -= 1
    else next.begin('go')
  }
  async function turn(kind: 'kept' | 'attempt'): Promise<'go' | 'busy'> {
    if (kind === 'attempt' && (isRefusing || waiting.length >= credentialLimits.hashesWaiting)) return 'busy'
    if (running >= atOnce) return new Promise((begin) => waiting.push({ kind, begin }))
    running += 1
    return 'go'
  }
  return {
    async run(kind, work) {
      if ((await turn(kind)) === 'busy') return 'busy'
      try {
        return await work()
      } finally {
        free()
      }
    },
    refuseWaiting() {
      isRefusing = true
      const refused = waiting.filter((one) => one.kind === 'attempt')
      waiting = waiting.filter((one) => one.kind === 'kept')
      for (const { begin } of refused) begin('busy')
    },
  }
}

/**
 * How passwords are hashed. `scrypt` is for a database that may be written to a disk. `keyed` is for a database in memory,
 * and applies only to passwords of 256 random bits: no guess finds one, so a slow hash would protect nothing.
 */
type PasswordScheme = 'scrypt' | 'keyed'

export interface Passwords {
  hash(password: string): Promise<string>
  /**
   * Compares a password with a stored hash. Without one it does the work of a hash of its scheme and returns `mismatch`, so that the
   * time does not reveal which accounts of that scheme exist. A password that is too long or too short
   * does not match. `busy` means that the line is full and nothing was compared.
   */
  verify(password: string, stored: string | undefined): Promise<'match' | 'mismatch' | 'busy'>
  isCurrent(stored: string): boolean
  /** Returns `busy` to every attempt that waits. */
  refuseWaiting(): void
}

const cost = { N: 2 ** 17, r: 8, p: 1 } as const
const scryptPrefix = `scrypt$${cost.N}$${cost.r}$${cost.p}$`
const keyedPrefix = 'hmac-sha256$'

interface PasswordOptions {
  scheme: PasswordScheme
  key: Uint8Array
  /** The slow hash; scrypt unless a test counts how often it runs. */
  derive?: (password: string, salt: string, cost: ScryptCost) => Promise<string>
}

interface ScryptCost {
  N: number
  r: number
  p: number
}

export function createPasswords({ scheme, key, derive = deriveByScrypt }: PasswordOptions): Passwords {
  const line = createHashLine()
  const dummy = scheme === 'scrypt' ? `${scryptPrefix}${randomSalt()}$${randomSecret()}` : keyedPrefix + randomSecret()

  async function matches(password: string, stored: string): Promise<boolean | 'busy'> {
    if (stored.startsWith(keyedPrefix)) return sameText(keyedPrefix + keyedHash(key, password), stored)
    const [name, n, r, p, salt] = stored.split('$')
    if (name !== 'scrypt' || salt === undefined) return false
    const stretch = { N: Number(n), r: Number(r), p: Number(p) }
    const derived = await line.run('attempt', () => derive(password, salt, stretch))
    return derived === 'busy' ? 'busy' : sameText(`scrypt$${n}$${r}$${p}$${salt}$${derived}`, stored)
  }
  return {
    async hash(password) {
      if (scheme === 'keyed' && isSecret(password)) return keyedPrefix + keyedHash(key, password)
      const salt = randomSalt()
      return `${scryptPrefix}${salt}$${await line.run('kept', () => derive(password, salt, cost))}`
    },
    async verify(password, stored) {
      if (password.length > credentialLimits.passwordCharacters) return 'mismatch'
      const isMatch = await matches(password, stored ?? dummy)
      if (isMatch === 'busy') return 'busy'
      return isMatch && stored !== undefined && password.length >= credentialLimits.leastPasswordCharacters
        ? 'match'
        : 'mismatch'
    },
    isCurrent: (stored) => stored.startsWith(scryptPrefix) || (scheme === 'keyed' && stored.startsWith(keyedPrefix)),
    refuseWaiting: () => line.refuseWaiting(),
  }
}

function randomSalt(): string {
  return randomBytes(16).toString('base64url')
}

function deriveByScrypt(password: string, salt: string, { N, r, p }: ScryptCost): Promise<string> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, 32, { N, r, p, maxmem: 256 * N * r }, (error, key) => {
      if (error === null) resolve(key.toString('base64url'))
      else reject(error)
    })
  })
}
