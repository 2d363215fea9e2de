import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { endWithParent } from './end-with-parent.ts'
import { freePort } from './free-port.ts'
import { openFolder, postgresPrograms } from './postgres-program.ts'
import { postgresIds } from './postgres-user.ts'
import { printed } from './printed.ts'

const run = promisify(execFile)

/** A server of our own, started for one run. */
export interface RunningServer {
  readonly url: string
  stop(): Promise<void>
}

/** A PostgreSQL server that can break. */
export interface PostgresNode extends RunningServer {
  readonly port: number
  /** Where its records are. */
  readonly dataFolder: string
  /** Runs a statement. */
  query<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>
  /** A connection of its own. Release it. */
  connect(): Promise<pg.PoolClient>
  /** SIGKILL for all of its processes, as if the machine were lost. */
  crash(): Promise<void>
  /** It keeps its connections and answers nothing until it is continued. */
  halt(): void
  continue(): void
  /** Starts it again on the same port, with what it had confirmed. */
  restart(): Promise<void>
}

export interface PostgresNodeOptions {
  /** Where the folder of everything that belongs to this server is made. */
  readonly parent?: string
  /** Makes its data folder, from a backup for example. Default: an empty server. */
  readonly fill?: (folder: string, dataFolder: string) => Promise<void>
  readonly settings: Readonly<Record<string, string>>
}

interface Start {
  readonly program: string
  readonly folder: string
  readonly dataFolder: string
  readonly port: number
  readonly settings: Readonly<Record<string, string>>
}

const host = '127.0.0.1'
export const postgresUser = 'tester'

/** Nothing here outlives the run, so that no write waits for a disk. */
const commonSettings = {
  listen_addresses: host,
  unix_socket_directories: '',
  fsync: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  // A killed server leaves these files in its data folder. By default they would stay in memory.
  dynamic_shared_memory_type: 'mmap',
}

/** Starts a real PostgreSQL on a free loopback port. Takes about 2 s. */
export async function startPostgresNode({
  parent = openFolder(),
  fill = initialise,
  settings,
}: PostgresNodeOptions): Promise<PostgresNode> {
  const folder = await mkdtemp(join(parent, 'agent-postgres-'))
  const { uid, gid } = postgresIds()
  if (uid !== undefined && gid !== undefined) await chown(folder, uid, gid)
  await chmod(folder, 0o755)
  const dataFolder = join(folder, 'data')
  try {
    await fill(folder, dataFolder)
    const { postgres: program } = await postgresPrograms(folder)
    const port = await freePort()
    return await nodeOf({ program, folder, dataFolder, port, settings: { ...commonSettings, ...settings } })
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

/** Sorts as English does, which the code must not depend on. */
const locale = ['--locale=C', '--locale-provider=icu', '--icu-locale=en-US']

async function initialise(folder: string, dataFolder: string): Promise<void> {
  const { initdb } = await postgresPrograms(folder)
  const flags = ['--auth=trust', '--encoding=UTF8', ...locale, '--no-sync', '--wal-segsize=1']
  const names = [`--pgdata=${dataFolder}`, `--username=${postgresUser}`]
  await run(initdb, [...names, ...flags], { ...postgresIds(), cwd: folder })
}

async function nodeOf(start: Start): Promise<PostgresNode> {
  const { folder, dataFolder, port } = start
  const url = `postgresql://${postgresUser}@${host}:${port}/postgres`
  let server = await started(start)
  const pool = new pg.Pool({ connectionString: url, max: 2, query_timeout: 60_000 })
  pool.on('error', () => {})
  const signal = (name: NodeJS.Signals): void => {
    // The server first, so that it makes no further process.
    for (const pid of [server.pid as number, ...childrenOf(server.pid as number)]) send(pid, name)
  }
  const crash = async (): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return
    const exit = once(server, 'exit')
    signal('SIGSTOP')
    signal('SIGKILL')
    await exit
  }
  return {
    url,
    port,
    dataFolder,
    query: async <Row extends object>(text: string, values?: unknown[]) => (await pool.query<Row>(text, values)).rows,
    connect: () => pool.connect(),
    crash,
    halt: () => signal('SIGSTOP'),
    continue: () => signal('SIGCONT'),
    async restart() {
      server = await started(start)
    },
    async stop() {
      await crash()
      if (!pool.ended) await pool.end()
      const segment = segmentOf({ dataFolder })
      if (segment !== undefined) spawnSync('ipcrm', ['-m', segment])
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/**
 * Returns the id of the server's System V shared memory segment, or undefined if the server has stopped by itself. If the server is
 * killed, the segment stays. A system has a few thousand at most.
 */
export function segmentOf({ dataFolder }: Pick<PostgresNode, 'dataFolder'>): string | undefined {
  const file = join(dataFolder, 'postmaster.pid')
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n')[6]?.trim().split(/ +/)[1] : undefined
}

async function started({ program, folder, dataFolder, port, settings }: Start): Promise<ChildProcess> {
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = spawn(program, ['-D', dataFolder, '-p', String(port), ...flags], {
    ...postgresIds(),
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, LC_MESSAGES: 'C' },
  })
  endWithParent(server, folder)
  await printed(server, /database system is ready to accept/)
  return server
}

/** Each connection has a process of its own in a process group of its own, so that a signal to the group reaches none. */
function childrenOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split(' ').filter(Boolean).map(Number) : []
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has ended.
  }
}
