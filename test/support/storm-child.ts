import { createAuthConfig, createBearerFetch, createSession } from 'agent-auth'
import { connectTo } from './shared-stores.ts'
import type { StormOrder, StormReport, StormTask } from './storm.ts'

// One backend process: a session for each person over the shared storage, and many requests at once when it is told to.
// Its connection to the storage would keep it running after the process that started it.
process.once('disconnect', () => process.exit())
const task = JSON.parse(process.argv[2] ?? '') as StormTask
const { storage, close } = await connectTo(task.kind, task.url, task.prefix)
let aheadMs = 0
const report: StormReport = { ok: 0, failures: {}, ended: 0 }

const config = createAuthConfig({
  ...task.config,
  clock: { wallMs: () => Date.now() + aheadMs, monotonicMs: () => performance.now() + aheadMs },
  onEvent(event) {
    if (event.type === 'session_ended' || event.type === 'login_required') report.ended += 1
  },
})
const fetchInTurn = inTurn(task.callsAtOnce ?? 100)
const people = Array.from({ length: task.sessions }, (_, index) => {
  const session = createSession(config, { storage, key: `person-${index}` })
  return { session, fetch: createBearerFetch(session, { baseUrl: task.config.baseUrl, fetch: fetchInTurn }) }
})
await Promise.all(people.map(({ session }) => session.ready()))

/** The platform's fetch for so many calls at a time; every caller has asked for its token before it waits here. */
function inTurn(limit: number): typeof fetch {
  const waiting: (() => void)[] = []
  let free = limit
  return async (...args) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await fetch(...args)
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    }
  }
}

async function request(bearerFetch: typeof fetch): Promise<void> {
  let outcome: string
  try {
    const response = await bearerFetch(`${task.config.baseUrl}${task.path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    await response.arrayBuffer()
    outcome = String(response.status)
  } catch (error) {
    outcome = (error as { code?: string }).code ?? String(error)
  }
  if (outcome === '200') report.ok += 1
  else report.failures[outcome] = (report.failures[outcome] ?? 0) + 1
}

process.on('message', async (order: StormOrder) => {
  if (order === 'end') {
    await close()
    process.disconnect()
    return
  }
  aheadMs = order.aheadMs
  Object.assign(report, { ok: 0, failures: {}, ended: 0 })
  const wanted = Array.from({ length: task.requests }, () => people.map(({ fetch }) => request(fetch)))
  await Promise.all(wanted.flat())
  process.send?.(report)
})
process.send?.('ready')
