import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { createAdaptorServer } from '@hono/node-server'
import { type Figure, median, type Size } from '../figures.ts'
import type { Calls } from './browsers.ts'
import { signedIn } from './people.ts'

const target = 0.8
const sizes = { whole: { calls: 400, rounds: 30, warmUps: 4 }, short: { calls: 20, rounds: 1, warmUps: 0 } }

/** A route through the backend, against the same route that asks for nothing. Both in this process, all else in another. */
export async function proxy(size: Size): Promise<Figure[]> {
  const browsers = fork(fileURLToPath(new URL('browsers.ts', import.meta.url)), { execArgv: ['--import', 'tsx'] })
  const ends: (() => void | Promise<void>)[] = [() => browsers.disconnect()]
  try {
    const [{ url }] = (await once(browsers, 'message')) as [{ url: string }]
    const { backend, people } = await signedIn(1, url, ({ memoryStorage }) => memoryStorage())
    const nothing = (): Response => new Response(null, { status: 404 })
    const routes = {
      auth: await listening(async (request) => (await backend.handle(request)) ?? nothing(), ends),
      open: await listening((request) => forward(url, request), ends),
      bare: await listening((request) => onlyFetch(url, request), ends),
    }
    return figuresOf(await costsOf(browsers, { routes, headers: people[0]?.headers ?? {} }, sizes[size]))
  } finally {
    for (const end of ends) await end()
  }
}

type Costs = Readonly<Record<'auth' | 'open' | 'bare', number[]>>

async function costsOf(
  browsers: ChildProcess,
  { routes, headers }: { routes: Readonly<Record<keyof Costs, string>>; headers: Calls['headers'] },
  { calls, rounds, warmUps }: (typeof sizes)[Size],
): Promise<Costs> {
  const costs: Costs = { auth: [], open: [], bare: [] }
  const names = ['auth', 'open', 'bare'] as const
  for (let round = -warmUps; round < rounds; round++)
    for (const name of round % 2 ? names : [...names].reverse()) {
      const cpuUs = await costOf(browsers, { url: `${routes[name]}/api/search`, headers, calls })
      if (round >= 0) costs[name].push(cpuUs)
    }
  return costs
}

/** Processor time of this process for each call, in microseconds, so that other work on the machine matters less. */
async function costOf(browsers: ChildProcess, order: Calls): Promise<number> {
  const before = process.cpuUsage()
  browsers.send(order)
  const [{ failure }] = (await once(browsers, 'message')) as [{ failure?: string }]
  if (failure) throw new Error(failure)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / order.calls
}

function figuresOf(costs: Costs): Figure[] {
  const perSecond = (name: keyof typeof costs): number => 1_000_000 / median(costs[name])
  // Of the same round, since the machine changes from one to the next.
  const ratio = (name: 'open' | 'bare'): number =>
    median(costs[name].map((us, round) => us / (costs.auth[round] ?? Number.NaN)))
  const peers = { 'without auth': perSecond('open'), 'a bare fetch without limits': perSecond('bare') }
  return [
    { name: 'proxied calls with a session', value: perSecond('auth'), unit: 'per CPU second', peers },
    { name: 'proxied calls : without auth', value: ratio('open'), unit: 'x', target: { least: target } },
    { name: 'proxied calls : a bare fetch without limits', value: ratio('bare'), unit: 'x' },
  ]
}

const dropped =
  /^(connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-length|host|cookie|accept-encoding|x-forwarded-.*)$/

/** Without auth, but what else any way to an API needs: filtered headers, no redirects, an end for what hangs or is given up. */
async function forward(base: string, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const body = await request.arrayBuffer()
  if (body.byteLength > 1_048_576) return new Response(null, { status: 413 })
  const headers = new Headers(request.headers)
  for (const name of [...headers.keys()]) if (dropped.test(name)) headers.delete(name)
  const answered = await fetch(base + pathname + search, {
    method: request.method,
    headers,
    body,
    redirect: 'manual',
    signal: AbortSignal.any([request.signal, AbortSignal.timeout(30_000)]),
  })
  const relayed = new Headers(answered.headers)
  for (const name of [...relayed.keys()]) if (dropped.test(name)) relayed.delete(name)
  return new Response(answered.body, { status: answered.status, headers: relayed })
}

async function onlyFetch(base: string, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const answered = await fetch(base + pathname + search, {
    method: request.method,
    headers: { 'content-type': request.headers.get('content-type') ?? '' },
    body: await request.arrayBuffer(),
  })
  return new Response(answered.body, { status: answered.status, headers: { 'content-type': 'application/json' } })
}

/** Returns the origin. */
async function listening(
  fetch: (request: Request) => Promise<Response>,
  ends: (() => void | Promise<void>)[],
): Promise<string> {
  const server = createAdaptorServer({ fetch, overrideGlobalObjects: false }) as Server
  // A busy machine may leave more than the usual five seconds between two calls of a connection.
  server.keepAliveTimeout = 60_000
  await once(server.listen(0, '127.0.0.1'), 'listening')
  ends.push(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(() => resolve()))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
