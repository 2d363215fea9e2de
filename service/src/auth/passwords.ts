import { randomBytes, scrypt } from 'node:crypto'
import { keyedHash, randomSecret, sameText } from './secrets.ts'

/**
 * `scrypt` for anything that may end up on a disk. `keyed` for a database in memory, and there only for passwords that
 * are 256 random bits: nobody can try them out, so a slow hash would protect nothing.
 */
export type PasswordScheme = 'scrypt' | 'keyed'

export interface Passwords {
  hash(password: string): Promise<string>
  /** Without a stored hash it does the same work and says no, so that time does not tell who exists (S-020). */
  verify(password: string, stored: string | undefined): Promise<'match' | 'mismatch'>
  isCurrent(stored: string): boolean
}

const cost = { N: 2 ** 17, r: 8, p: 1 } as const
const scryptPrefix = `scrypt$${cost.N}$${cost.r}$${cost.p}$`
const keyedPrefix = 'hmac-sha256$'
/** What `randomSecret` makes, and what nobody chooses. */
const generated = /^[A-Za-z0-9_-]{43}$/
const longest = 1_024
const shortest = 8

export interface PasswordOptions {
  scheme: PasswordScheme
  key: Uint8Array
  /** The slow hash; scrypt unless a test counts how often it runs. */
  derive?: (password: string, salt: string, cost: ScryptCost) => Promise<string>
}

export interface ScryptCost {
  N: number
  r: number
  p: number
}

export function createPasswords({ scheme, key, derive = deriveByScrypt }: PasswordOptions): Passwords {
  const dummy = scheme === 'scrypt' ? `${scryptPrefix}${randomSalt()}$${randomSecret()}` : keyedPrefix + randomSecret()

  async function matches(password: string, stored: string): Promise<boolean> {
    if (stored.startsWith(keyedPrefix)) return sameText(keyedPrefix + keyedHash(key, password), stored)
    const [name, n, r, p, salt] = stored.split('$')
    if (name !== 'scrypt' || salt === undefined) return false
    const derived = await derive(password, salt, { N: Number(n), r: Number(r), p: Number(p) })
    return sameText(`scrypt$${n}$${r}$${p}$${salt}$${derived}`, stored)
  }
  return {
    async hash(password) {
      if (scheme === 'keyed' && generated.test(password)) return keyedPrefix + keyedHash(key, password)
      const salt = randomSalt()
      return `${scryptPrefix}${salt}$${await derive(password, salt, cost)}`
    },
    async verify(password, stored) {
      if (password.length > longest) return 'mismatch'
      const isMatch = await matches(password, stored ?? dummy)
      return isMatch && stored !== undefined && password.length >= shortest ? 'match' : 'mismatch'
    },
    isCurrent: (stored) => stored.startsWith(scryptPrefix) || (scheme === 'keyed' && stored.startsWith(keyedPrefix)),
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
