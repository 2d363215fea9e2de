import { OAuth2Server } from 'oauth2-mock-server'
import type { Figure } from '../figures.ts'
import { median } from '../figures.ts'
import type { Peer } from './peers.ts'
import { agentServicePeer, commands, mockServerPeer, oidcProviderPeer, standardClient } from './peers.ts'
import type { Send } from './send.ts'
import { sendByFetch, sendOverSockets, sendToHandler } from './send.ts'
import { startServerProcess } from './server-process.ts'
import { targets } from './targets.ts'
import type { UserAgent } from './user-agent.ts'
import { createUserAgent } from './user-agent.ts'

/** A server under load, wherever it runs. */
interface Loaded {
  name: string
  peer: Peer
  send: Send
  /** Of the process that serves; in process it includes the driver, which is the same for all. */
  cpuMs(): Promise<number>
  stop(): Promise<void> | void
}

type Work = 'logins' | 'logins of new browsers' | 'refreshes'
type Rates = Map<Work, Map<string, { perCpuSecond: number[]; perSecond: number[] }>>

const works: readonly Work[] = ['logins', 'logins of new browsers', 'refreshes']
const browsers = 8

/**
 * Logins and refreshes per second of the server's processor time, so that other work on the machine does not count. `logins`: every
 * browser is signed in already and a login is authorize, consent, exchange. `logins of new browsers` adds the sign-in page; ours
 * checks the password, oidc-provider's accepts any. oauth2-mock-server shows no page at all.
 */
export async function throughput(where: 'loopback' | 'in process', options: LoadOptions): Promise<Figure[]> {
  const servers = where === 'loopback' ? await startOnLoopback() : await startInProcess()
  const rates: Rates = new Map(works.map((work) => [work, new Map()]))
  try {
    for (const work of works) {
      for (let round = -1; round < options.rounds; round++) {
        for (const server of servers) {
          const rate = await measure(server, work, round < 0 ? options.warmUpMs : options.roundMs)
          const own = rates.get(work)
          const kept = own?.get(server.name) ?? { perCpuSecond: [], perSecond: [] }
          own?.set(server.name, kept)
          if (round < 0) continue
          kept.perCpuSecond.push(rate.perCpuSecond)
          kept.perSecond.push(rate.perSecond)
        }
      }
    }
  } finally {
    for (const server of servers) await server.stop()
  }
  return works.flatMap((work) => figuresOf(`${where}, ${work}`, rates.get(work) ?? new Map(), targets[work]))
}

export interface LoadOptions {
  /** Long enough for every server's code to be compiled: who has the most of it is not to pay for that here. */
  warmUpMs: number
  rounds: number
  roundMs: number
}

function figuresOf(
  title: string,
  rates: Map<string, { perCpuSecond: number[]; perSecond: number[] }>,
  target: number,
): Figure[] {
  const perCpuSecond = (name: string): number => median(rates.get(name)?.perCpuSecond ?? [])
  const figures: Figure[] = [...rates].flatMap(([name, { perSecond }]) => [
    { name: `${title}, ${name}`, value: perCpuSecond(name), unit: 'per CPU second' },
    { name: `${title}, ${name}, by the clock`, value: median(perSecond), unit: 'per second' },
  ])
  const ratio = perCpuSecond('agent-service') / perCpuSecond('oidc-provider')
  const name = `${title}, agent-service : oidc-provider`
  return [...figures, { name, value: ratio, unit: 'x', target: { least: target } }]
}

async function measure(
  { send, peer, cpuMs }: Loaded,
  work: Work,
  roundMs: number,
): Promise<{ perCpuSecond: number; perSecond: number }> {
  const agents = await Promise.all(Array.from({ length: browsers }, () => prepare(createUserAgent(send, peer))))
  const [cpuBefore, before] = [await cpuMs(), performance.now()]
  const done = await Promise.all(agents.map((agent) => repeat(agent, work, before + roundMs)))
  const [elapsedMs, usedMs] = [performance.now() - before, (await cpuMs()) - cpuBefore]
  const total = done.reduce((sum, count) => sum + count, 0)
  return { perCpuSecond: (total * 1_000) / usedMs, perSecond: (total * 1_000) / elapsedMs }
}

async function prepare(agent: UserAgent): Promise<{ agent: UserAgent; refreshToken: string }> {
  return { agent, refreshToken: await agent.login() }
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

async function startOnLoopback(): Promise<Loaded[]> {
  const servers: Loaded[] = []
  for (const [name, { args, peer }] of Object.entries(commands)) {
    const server = await startServerProcess(args)
    const { send, close } = sendOverSockets()
    const stop = async (): Promise<void> => {
      close()
      await server.stop()
    }
    servers.push({ name, peer: peer(server.said), send, cpuMs: () => server.cpuMs(), stop })
  }
  return servers
}

async function startInProcess(): Promise<Loaded[]> {
  const cpuMs = async (): Promise<number> => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  }
  // As built: that is what people install.
  const built = new URL('../../service/dist/index.js', import.meta.url).href
  const { createService } = (await import(built)) as typeof import('agent-service')
  const service = await createService()
  const origin = 'http://127.0.0.1:8975'
  const { createProvider } = await import('./peers/oidc-provider.mjs')
  const provider = sendToHandler(createProvider(origin, standardClient).callback())
  const mock = new OAuth2Server()
  await mock.issuer.keys.generate('RS256')
  mock.issuer.url = origin
  const mocked = sendToHandler(mock.service.requestHandler)
  return [
    {
      ...{ name: 'agent-service', peer: agentServicePeer(service), cpuMs },
      send: sendByFetch((url, init) => service.fetch(url, init)),
      stop: () => service.close(),
    },
    { name: 'oauth2-mock-server', peer: mockServerPeer(origin), send: mocked.send, cpuMs, stop: mocked.close },
    { name: 'oidc-provider', peer: oidcProviderPeer(origin), send: provider.send, cpuMs, stop: provider.close },
  ]
}
