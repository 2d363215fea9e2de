import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import pg from 'pg'
import { createDatabase, startPostgres } from '../../test/support/postgres-server.ts'

/** A database that the service opens by `options`, and a way to fill it without the service. */
export interface ScaleDatabase {
  options: { dataFile: string } | { databaseUrl: string }
  /** Runs the statements one after the other, each on its own. */
  execute(statements: AsyncIterable<string> | Iterable<string>): Promise<void>
  /** Runs before and after a start that adds all agents to the index of texts. */
  beforeIndexing(): Promise<void>
  afterIndexing(): Promise<void>
  remove(): Promise<void>
}

export interface Engine {
  name: 'libSQL' | 'PostgreSQL'
  create(): Promise<ScaleDatabase>
  stop(): Promise<void>
}

export function libsqlEngine(): Engine {
  return {
    name: 'libSQL',
    async create() {
      const file = join(tmpdir(), `agent-service-bench-${process.pid}-${Math.random().toString(36).slice(2)}.db`)
      return {
        options: { dataFile: file },
        async execute(statements) {
          const database = new Database(file)
          database.pragma('synchronous = OFF')
          for await (const statement of statements) database.exec(statement)
          database.close()
        },
        beforeIndexing: async () => {},
        afterIndexing: async () => {},
        async remove() {
          for (const suffix of ['', '-wal', '-shm']) await rm(file + suffix, { force: true })
        },
      }
    },
    stop: async () => {},
  }
}

export async function postgresEngine(): Promise<Engine> {
  const server = await startPostgres()
  return {
    name: 'PostgreSQL',
    async create() {
      const { url, drop } = await createDatabase(server.url)
      return {
        options: { databaseUrl: url },
        execute: (statements) => runAll(url, statements),
        // An index of full tables is made in a fifth of the time.
        beforeIndexing: () => runAll(url, ['drop index agent_trigrams_by_trigram']),
        afterIndexing: () =>
          runAll(url, [
            "set maintenance_work_mem = '1GB'",
            'create index agent_trigrams_by_trigram on agent_trigrams using gin (trigrams)',
            // What autovacuum does by itself on a server that lives longer than this one.
            'vacuum analyze parent_agents',
            'vacuum analyze agent_trigrams',
          ]),
        remove: drop,
      }
    },
    stop: () => server.stop(),
  }
}

async function runAll(url: string, statements: AsyncIterable<string> | Iterable<string>): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  for await (const statement of statements) await client.query(statement)
  await client.end()
}

const tenants = 100
const agentsElsewhere = 100
const batch = 100_000

/** How many agents have the type that `rareType` names, whatever the size. */
export const rareAgents = 20
export const rareType = 'audit_agent'

/**
 * The same statements on both engines: `demo` gets `size` agents, 98 further tenants a hundred each. One agent in ten is
 * off, models and types take turns, and twenty agents have a type of their own.
 */
export function* fillStatements(size: number, onProgress: (done: number) => void): Generator<string> {
  yield `insert into tenants (id, name, active, billing_active)
    ${series(1, tenants - 2)} select 'tenant' || i, 'Tenant ' || i, 1, 1 from series`
  yield `insert into llm_models (tenant_id, model_name, model_version, provider, search_text)
    select id, 'Aurora', '1', 'northlight', 'aurora' from tenants where id like 'tenant%'`
  for (let from = 1; from <= size; from += batch) {
    const to = Math.min(size, from + batch - 1)
    yield insertAgents(series(from, to), `(select 'demo' as id) as owner`, Math.max(1, Math.floor(size / rareAgents)))
    onProgress(to)
  }
  yield insertAgents(series(1, agentsElsewhere), `(select id from tenants where id like 'tenant%') as owner`, batch)
}

function series(from: number, to: number): string {
  return `with recursive series(i) as (select ${from} union all select i + 1 from series where i < ${to})`
}

function insertAgents(series: string, owner: string, rareEvery: number): string {
  const configs = '{"max_rounds":"10","temperature":0.2,"max_messages":"50","continue_with_last_agent":false}'
  const type = `case when i % ${rareEvery} = 0 then '${rareType}' else 'type_' || (i % 50) end`
  const text = `'agent ' || i || ' reads what number ' || i || ' says and answers'`
  return `insert into parent_agents (tenant_id, parent_agent_type, parent_agent_type_key, agent_key, agent_name,
      full_display_name, display_name, description, configs, llm_model, active, state_function, created_ms, search_text)
    ${series}
    select owner.id, ${type}, ${type}, 'agent_' || i, 'Agent ' || i, 'Agent ' || i || ' (scale)', 'Agent ' || i,
      'Reads what number ' || i || ' says and answers.', '${configs}',
      (select min(id) from llm_models where tenant_id = owner.id) + case when owner.id = 'demo' then i % 6 else 0 end,
      case when i % 10 = 0 then 0 else 1 end, '[]', 1700000000000, ${text}
    from series, ${owner}`
}
