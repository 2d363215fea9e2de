import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'libsql'
import pg from 'pg'
import { createDatabase, startPostgres } from '../../test/support/postgres-server.ts'
import { type Figure, median, quantile } from '../figures.ts'
import { type Send, sendOverSockets } from './send.ts'
import { startServerProcess } from './server-process.ts'

const command = fileURLToPath(new URL('../../service/dist/cli.js', import.meta.url))
const agents = 10_000

/** A database that the service opens by `options`. */
interface Filled {
  name: string
  options: { dataFile: string } | { databaseUrl: string }
  execute(statement: string): Promise<unknown>
  remove(): Promise<void>
}

const queries: Readonly<Record<string, { body: object; count: number }>> = {
  'by a text, sorted': { body: { search_value: 'number 5000 says', sort: { column: 'agent_name' } }, count: 1 },
  // The demo agents are there too.
  'all, sorted': { body: { limit: 20, sort: { column: 'agent_name', desc: true } }, count: agents + 12 },
}

/** Searches a full tenant over sockets, and calls another tenant beside ten searches at once. */
export async function search(): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const open of [onLibsql, onPostgres]) {
    const filled = await open()
    try {
      figures.push(...(await measure(filled)))
    } finally {
      await filled.remove()
    }
  }
  return figures
}

async function onLibsql(): Promise<Filled> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-service-bench-'))
  const dataFile = join(folder, 'data.db')
  return {
    name: 'libSQL',
    options: { dataFile },
    async execute(statement) {
      const database = new Database(dataFile)
      database.exec(statement)
      database.close()
    },
    remove: () => rm(folder, { recursive: true }),
  }
}

async function onPostgres(): Promise<Filled> {
  const server = await startPostgres()
  const { url, drop } = await createDatabase(server.url)
  return {
    name: 'PostgreSQL',
    options: { databaseUrl: url },
    async execute(statement) {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      await client.query(statement).finally(() => client.end())
    },
    async remove() {
      await drop()
      await server.stop()
    },
  }
}

/** Adds agents to the tenant `demo`, in SQL that both engines have. */
const addAgents = `
  with recursive series (i) as (select 1 union all select i + 1 from series where i < ${agents})
  insert into parent_agents (tenant_id, parent_agent_type, parent_agent_type_key, agent_key, agent_name, name_as_sent,
    full_display_name, display_name, description, configs, llm_model, active, state_function, created_ms, search_text)
  select 'demo', 'Type', 'type', 'agent_' || i, 'Agent ' || i, 'Agent ' || i, 'Agent ' || i, 'Agent ' || i,
    'Reads what number ' || i || ' says and answers.', '{}', (select min(id) from llm_models where tenant_id = 'demo'),
    1, '[]', 1700000000000, 'agent ' || i || ' reads what number ' || i || ' says and answers'
  from series`

async function measure({ name, options, execute }: Filled): Promise<Figure[]> {
  const built = new URL('../../service/dist/index.js', import.meta.url).href
  const { createService } = (await import(built)) as typeof import('agent-service')
  await (await createService(options)).close()
  await execute(addAgents)
  const place = 'dataFile' in options ? ['--data', options.dataFile] : ['--database-url', options.databaseUrl]
  const ports = ['--auth-port', '0', '--base-port', '0']
  const server = await startServerProcess([command, '--json', '--dev', ...ports, ...place])
  const { send, close } = sendOverSockets()
  try {
    const { authUrl, baseUrl } = JSON.parse(server.said) as { authUrl: string; baseUrl: string }
    const caller = (email: string) => callerOf(send, { authUrl, baseUrl, email })
    const [busy, other] = [await caller('ada@demo.example'), await caller('ola@other.example')]
    const figures: Figure[] = []
    for (const [query, { body, count }] of Object.entries(queries)) {
      const times = await repeated(100, () => busy('/api/parent_agents/search', body, count))
      const value = median(times)
      figures.push({ name: `${name}, 10,000 agents ${query}, p50`, value, unit: 'ms', target: { most: 40 } })
    }
    const beside = await besideTen(
      () => busy('/api/parent_agents/search', queries['by a text, sorted']?.body ?? {}, 1),
      () => other('/api/llm_models/search', {}),
    )
    const value = quantile(beside, 0.99)
    return [
      ...figures,
      { name: `${name}, another tenant beside ten searches, p99`, value, unit: 'ms', target: { most: 100 } },
    ]
  } finally {
    close()
    await server.stop()
  }
}

type Call = (path: string, body: object, count?: number) => Promise<void>

async function callerOf(
  send: Send,
  { authUrl, baseUrl, email }: { authUrl: string; baseUrl: string; email: string },
): Promise<Call> {
  const json = { 'content-type': 'application/json' }
  const made = await send(`${authUrl}/_dev/session-token`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ email }),
  })
  const { token } = JSON.parse(made.text) as { token: string }
  const headers = { ...json, authorization: `Bearer ${token}` }
  return async (path, body, count) => {
    const answer = await send(baseUrl + path, { method: 'POST', headers, body: JSON.stringify(body) })
    const found = (JSON.parse(answer.text) as { data?: { count?: number } }).data?.count
    if (answer.status !== 200 || (count !== undefined && found !== count))
      throw new Error(`${path}: status ${answer.status}, ${found} found`)
  }
}

async function repeated(times: number, run: () => Promise<void>): Promise<number[]> {
  // The first turns warm up.
  for (let turn = 0; turn < 10; turn += 1) await run()
  const taken: number[] = []
  for (let turn = 0; turn < times; turn += 1) taken.push(await timed(run))
  return taken
}

/** Returns the times of 300 calls, while ten others are always in progress. */
async function besideTen(busy: () => Promise<void>, other: () => Promise<void>): Promise<number[]> {
  let state: 'measuring' | 'done' = 'measuring'
  const searches = Array.from({ length: 10 }, async () => {
    while (state === 'measuring') await busy()
  })
  const taken = await repeated(300, other).finally(() => {
    state = 'done'
  })
  await Promise.all(searches)
  return taken
}

async function timed(run: () => Promise<void>): Promise<number> {
  const before = performance.now()
  await run()
  return performance.now() - before
}
