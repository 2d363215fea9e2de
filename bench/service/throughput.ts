import { type Figure, median } from '../figures.ts'
import { commands, type Peer } from './peers.ts'
import { type Send, sendOverSockets } from './send.ts'
import { startServerProcess } from './server-process.ts'
import { createUserAgent, type UserAgent } from './user-agent.ts'

interface Loaded {
  readonly name: string
  readonly peer: Peer
  readonly send: Send
  /** Processor time of the server since its start. */
  cpuMs(): Promise<number>
  stop(): Promise<void>
}

/** What is repeated, and the least part of the rate of oidc-provider that ours must have. */
const works = { logins: 1.5, 'logins of new browsers': 1.5, refreshes: 0.9 } as const
type Work = keyof typeof works

/** Fewer than the failures that are free of a delay, because all of them sign in to one account. */
const browsers = 4
const rounds = 5
const roundMs = 500
/** Long enough for the code of each server to be compiled. */
const warmUpMs = 2_000

/**
 * Logins and refreshes for each second of the server's processor time, so that other work on the machine does not count. `logins`: each
 * browser is signed in already. `logins of new browsers` adds the sign-in page. Ours checks the password, oidc-provider accepts any,
 * and oauth2-mock-server shows no page at all.
 */
export async function throughput(): Promise<Figure[]> {
  const servers: Loaded[] = []
  try {
    for (const [name, { args, peer }] of Object.entries(commands)) {
      const server = await startServerProcess(args)
      const { send, close } = sendOverSockets()
      const stop = (): Promise<void> => {
        close()
        return server.stop()
      }
      servers.push({ name, peer: peer(server.said), send, cpuMs: () => server.cpuMs(), stop })
    }
    const figures: Figure[] = []
    for (const [work, least] of Object.entries(works)) figures.push(await compare(servers, work as Work, least))
    return figures
  } finally {
    for (const server of servers) await server.stop()
  }
}

async function compare(servers: readonly Loaded[], work: Work, least: number): Promise<Figure> {
  const rates = new Map(servers.map(({ name }) => [name, [] as number[]]))
  for (let round = 0; round <= rounds; round++)
    for (const server of servers) {
      const rate = await perCpuSecond(server, work, round === 0 ? warmUpMs : roundMs)
      if (round > 0) rates.get(server.name)?.push(rate)
    }
  const { 'agent-service': value = Number.NaN, ...peers } = Object.fromEntries(
    [...rates].map(([name, values]) => [name, median(values)]),
  )
  const target = { least, of: 'oidc-provider' }
  return { name: `service, ${work}`, value, unit: 'per CPU second', peers, target }
}

async function perCpuSecond({ send, peer, cpuMs }: Loaded, work: Work, forMs: number): Promise<number> {
  const prepared = await Promise.all(
    Array.from({ length: browsers }, async () => {
      const agent = createUserAgent(send, peer)
      return { agent, refreshToken: await agent.login() }
    }),
  )
  const [beforeMs, untilMs] = [await cpuMs(), performance.now() + forMs]
  const done = await Promise.all(prepared.map((one) => repeat(one, work, untilMs)))
  return (done.reduce((sum, count) => sum + count, 0) * 1_000) / ((await cpuMs()) - beforeMs)
}

async function repeat(
  { agent, refreshToken }: { agent: UserAgent; refreshToken: string },
  work: Work,
  untilMs: number,
): Promise<number> {
  let current = refreshToken
  let done = 0
  for (; performance.now() < untilMs; done++) {
    if (work === 'logins of new browsers') agent.forget()
    current = await (work === 'refreshes' ? agent.refresh(current) : agent.login())
  }
  return done
}
