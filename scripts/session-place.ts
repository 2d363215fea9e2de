import { connect } from 'node:net'

export type SessionPlace = 'Redis' | 'PostgreSQL' | 'memory'

interface Kind {
  readonly place: SessionPlace
  readonly variable: 'REDIS_URL' | 'DATABASE_URL'
  readonly schemes: readonly [shown: string, other: string]
  readonly port: number
}

/** The first whose variable is set has the sessions. */
const kinds: readonly Kind[] = [
  { place: 'Redis', variable: 'REDIS_URL', schemes: ['redis:', 'rediss:'], port: 6379 },
  { place: 'PostgreSQL', variable: 'DATABASE_URL', schemes: ['postgres:', 'postgresql:'], port: 5432 },
]

const patienceMs = 3_000

/** Where the environment puts the sessions; rejects, without what the URL holds beside host and port, when nothing answers there. */
export async function findSessionPlace(env: Readonly<Record<string, string | undefined>>): Promise<SessionPlace> {
  const kind = kinds.find(({ variable }) => env[variable])
  if (!kind) return 'memory'
  const { place, variable, schemes, port } = kind
  const text = env[variable] ?? ''
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !schemes.includes(url.protocol)) throw new Error(`${variable} must be a ${schemes[0]}// URL`)
  const { hostname } = url
  // The driver knows others, such as the path of a socket.
  if (!/^([\w.-]+|\[.+\])$/.test(hostname)) return place
  const there = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || port) }
  if (!(await answers(there))) throw new Error(`${variable}: nothing answers at ${hostname}:${there.port}`)
  return place
}

function answers(there: { host: string; port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ ...there, timeout: patienceMs })
    const settle = (reached: boolean): void => {
      socket.destroy()
      resolve(reached)
    }
    socket.once('connect', () => settle(true))
    socket.once('timeout', () => settle(false))
    socket.once('error', () => settle(false))
  })
}
