import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { TokenStorage } from '../../src/index.ts'
import type { Figure, Size } from '../figures.ts'
import { asShipped } from './as-shipped.ts'
import type * as Measured from './measured.ts'

const sizes = { whole: 100_000, short: 2_000 }
const targets = { heldBytes: 8_192, leftBytes: 1_000, grownBytes: 10 }

/** What a session costs that a process keeps in memory, and what all sessions cost that it has had to do with. */
export async function memory(size: Size): Promise<Figure[]> {
  const touched = sizes[size]
  const { backendContext } = await asShipped<typeof Measured>('bench/backend/measured.ts')
  let passedMs = 0
  const context = backendContext({
    authUrl: 'https://auth.example.com',
    baseUrl: 'https://api.example.com',
    clientId: 'app',
    redirectUri: 'https://app.example.com/auth/callback',
    sessions: elsewhere,
    secrets: ['a-secret-of-more-than-32-characters'],
    clock: { wallMs: Date.now, monotonicMs: () => performance.now() + passedMs },
  })
  const { live } = context
  const touch = (key: string): Promise<string> => live.use(key, ({ session }) => session.getAccessToken())
  const empty = heapBytes()
  for (let at = 0; at < touched; at++) await touch(keyOf(at))
  const full = heapBytes() - empty
  // Each is read again, as it is in use.
  const held = live.all().length
  passedMs += 5_000
  for (let at = touched - held; at < touched; at++) await touch(keyOf(at))
  const heldBytes = (heapBytes() - empty) / held
  for (let at = 0; at < touched; at++) await touch(keyOf(at))
  const grown = heapBytes() - empty - full
  const all = `${touched.toLocaleString('en-US')} sessions`
  return [
    { name: 'memory of a held session', value: heldBytes, unit: 'bytes', target: { most: targets.heldBytes } },
    { name: `sessions held after ${all}`, value: held, unit: 'sessions' },
    {
      name: `memory after ${all}, for each`,
      value: full / touched,
      unit: 'bytes',
      target: { most: targets.leftBytes },
    },
    {
      name: `memory that as many sessions again add, for each`,
      value: Math.max(grown, 0) / touched,
      unit: 'bytes',
      target: { most: targets.grownBytes },
    },
  ]
}

/** As long as the keys of real sessions. */
function keyOf(at: number): string {
  return `web-${String(at).padStart(43, '0')}`
}

/** As Redis would give them: nothing of them is kept here. It has no endings, whose names have a fifth part. */
const elsewhere: TokenStorage = {
  getItem: async (name) =>
    name.split(':').length > 4
      ? null
      : JSON.stringify({
          v: 1,
          owner: name,
          id: name.slice(-43),
          rev: 1,
          accessToken: 'a'.repeat(800),
          refreshToken: 'r'.repeat(60),
          obtainedAtMs: 0,
        }),
  async setItem() {},
  async removeItem() {},
  withLock: (_name, task) => task(),
}

function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  return process.memoryUsage().heapUsed
}
