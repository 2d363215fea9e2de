import { randomUUID } from 'node:crypto'
import { createAuthConfig, createSession, exchangeCode, readCallback, startLogin } from 'agent-auth'
import { type Service, type ServiceOptions, startService } from 'agent-service'
import { type AtEnd, nextWord, startChildren } from './children.ts'
import { connectTo, type StoreKind } from './shared-stores.ts'

export interface StormSize {
  readonly kind: StoreKind
  /** Of the Redis or PostgreSQL, or the path of the file. */
  readonly url: string
  readonly processes: number
  readonly sessions: number
  /** For each session in each process, all at once. */
  readonly requests: number
  readonly rounds: number
  /** How many API calls one process has in progress. More would fill the queue of the service. Default: 100. */
  readonly callsAtOnce?: number
  readonly onRound?: (round: number) => void
}

/** The full size of a round. */
export const stormSize = { processes: 4, sessions: 20, requests: 100 } as const

/** What a child is started with. */
export interface StormTask extends Omit<StormSize, 'processes' | 'rounds' | 'onRound'> {
  readonly prefix: string
  readonly path: string
  readonly config: { authUrl: string; baseUrl: string; clientId: string; redirectUri: string; timeoutMs: number }
}

export type StormOrder = { readonly aheadMs: number } | 'end'

/** What a child saw in one round. */
export interface StormReport {
  ok: number
  readonly failures: Record<string, number>
  /** How many sessions were said to be over. */
  ended: number
}

export interface StormRound extends StormReport {
  readonly refreshes: number
  /** Refresh tokens the service saw a second time. */
  readonly reused: number
  readonly tookMs: number
}

const lifeMs = 600_000
const redirectUri = 'https://app.demo.example/callback'

/** Several processes whose sessions all expire at one moment, over one storage and against a real service. */
export async function storm(atEnd: AtEnd, size: StormSize): Promise<StormRound[]> {
  const { service, task } = await peopleSignedIn(atEnd, size)
  const children = await startChildren(atEnd, 'storm-child.ts', [JSON.stringify(task)], size.processes)
  await Promise.all(children.map(nextWord))
  const rounds: StormRound[] = []
  for (let round = 1; round <= size.rounds; round++) {
    service.dev.advance(lifeMs + 1_000)
    const sinceMs = service.dev.nowMs()
    const startMs = performance.now()
    const reports = children.map(async (child) => {
      const report = nextWord(child)
      child.send({ aheadMs: round * (lifeMs + 1_000) } satisfies StormOrder)
      return (await report) as StormReport
    })
    rounds.push(summary(await Promise.all(reports), refreshesSeen(service, sinceMs), performance.now() - startMs))
    size.onRound?.(round)
  }
  for (const child of children) child.send('end' satisfies StormOrder)
  return rounds
}

/** One refresh a session, and every request answered. */
export function isFaultless(
  { refreshes, ok, ended }: StormRound,
  { processes, sessions, requests }: Pick<StormSize, 'processes' | 'sessions' | 'requests'>,
): boolean {
  return refreshes === sessions && ok === processes * sessions * requests && ended === 0
}

/** A real service, and people of it who are signed in over the storage as `person-0` and so on. */
export async function peopleSignedIn(
  atEnd: AtEnd,
  { kind, url, sessions, requests, callsAtOnce = 100 }: Omit<StormSize, 'processes' | 'rounds' | 'onRound'>,
  options: Pick<ServiceOptions, 'graceMs'> = {},
): Promise<{ service: Service; task: StormTask }> {
  const service = await startService({ dev: 'on', authPort: 0, basePort: 0, accessTokenLifeMs: lifeMs, ...options })
  atEnd(() => service.close())
  const clientId = service.clients.find(({ name }) => name === 'Demo public')?.clientId ?? ''
  const { authUrl, baseUrl } = service
  // Twice as long as usual: it is one machine that plays four and the service.
  const config = { authUrl, baseUrl, clientId, redirectUri, timeoutMs: 20_000 }
  const path = '/api/parent_agents/search'
  const task: StormTask = { kind, url, sessions, requests, callsAtOnce, prefix: randomUUID(), path, config }
  await signPeopleIn(service, task)
  return { service, task }
}

/** Signs people of the service in over the storage of the task. */
export async function signPeopleIn(
  service: Service,
  { kind, url, prefix, sessions, config: options }: StormTask,
): Promise<void> {
  service.dev.autoApprove(service.people.find(({ tenant }) => tenant === 'demo')?.email)
  const { storage, close } = await connectTo(kind, url, prefix)
  const config = createAuthConfig(options)
  for (let index = 0; index < sessions; index++) {
    const { url: authorize, pending } = await startLogin(config)
    const answer = await fetch(authorize, { redirect: 'manual' })
    const grant = readCallback(pending, answer.headers.get('location') ?? '')
    await createSession(config, { storage, key: `person-${index}` }).signIn(await exchangeCode(config, grant))
  }
  await close()
}

/** In one round: the journal forgets its oldest entries, but not within a round of the largest size. */
function refreshesSeen(service: Service, sinceMs: number): { refreshes: number; reused: number } {
  const journal = service.dev.journal().filter(({ atMs }) => atMs >= sinceMs)
  return {
    refreshes: journal.filter((entry) => entry.kind === 'request' && entry.grantType === 'refresh_token').length,
    reused: journal.filter((entry) => entry.kind === 'event' && entry.event === 'refresh_token_reused').length,
  }
}

type Seen = ReturnType<typeof refreshesSeen>

function summary(reports: readonly StormReport[], seen: Seen, tookMs: number): StormRound {
  const failures: Record<string, number> = {}
  for (const report of reports)
    for (const [what, count] of Object.entries(report.failures)) failures[what] = (failures[what] ?? 0) + count
  const sum = (member: 'ok' | 'ended'): number => reports.reduce((total, report) => total + report[member], 0)
  return { ok: sum('ok'), failures, ended: sum('ended'), ...seen, tookMs }
}
