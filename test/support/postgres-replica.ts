import { execFile } from 'node:child_process'
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'
import { type PostgresNode, startPostgresNode } from './postgres-node.ts'
import { openFolder, postgresPrograms } from './postgres-program.ts'
import { postgresIds } from './postgres-user.ts'
import { untilServer } from './until.ts'

const run = promisify(execFile)
const user = 'tester'

/** Nothing here outlives the run, so that no write waits for a disk. A commit does wait for a synchronous standby. */
const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '16MB',
  fsync: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  // A killed server leaves these files in its data folder. By default they would stay in memory.
  dynamic_shared_memory_type: 'mmap',
  wal_keep_size: '64MB',
  wal_receiver_status_interval: '1s',
  wal_retrieve_retry_interval: '100ms',
}

/** Starts an empty PostgreSQL that can have standbys. Takes about 2 s. */
export async function startPrimary(): Promise<PostgresNode> {
  return startIn(async (folder, dataFolder) => {
    const { initdb } = await postgresPrograms(folder)
    const flags = ['--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync', '--wal-segsize=1']
    await run(initdb, [`--pgdata=${dataFolder}`, `--username=${user}`, ...flags], { ...postgresIds(), cwd: folder })
  })
}

/** Starts a streaming standby of a primary from a copy of its folder, and resolves when it has what the primary has. */
export async function startStandby(primary: PostgresNode): Promise<PostgresNode> {
  const standby = await startIn(async (folder, dataFolder) => {
    const label = await copyOf(primary, folder, dataFolder)
    const connection = `primary_conninfo = 'host=127.0.0.1 port=${primary.port} user=${user} application_name=standby'\n`
    const files = { backup_label: label, 'standby.signal': '', 'postgresql.auto.conf': connection }
    for (const [name, text] of Object.entries(files)) await writeOwned(join(dataFolder, name), text)
  })
  await replayed(primary, standby)
  return standby
}

/** Chooses whether a commit at the primary waits until a standby has it. */
export async function setReplication(primary: PostgresNode, mode: 'asynchronous' | 'synchronous'): Promise<void> {
  const names = mode === 'synchronous' ? '*' : ''
  await primary.query(`alter system set synchronous_standby_names = '${names}'`)
  await primary.query('select pg_reload_conf()')
  await untilServer('change its replication', async () => {
    const [row] = await primary.query<{ names: string }>("select current_setting('synchronous_standby_names') as names")
    return row?.names === names
  })
}

/** Resolves when the standby shows what the primary had confirmed at the call. */
export async function replayed(primary: PostgresNode, standby: PostgresNode): Promise<void> {
  const [row] = await primary.query<{ lsn: string }>('select pg_current_wal_lsn() as lsn')
  await untilServer('replay', async () => {
    const [seen] = await standby.query<{ has: boolean }>('select pg_last_wal_replay_lsn() >= $1 as has', [row?.lsn])
    return seen?.has === true
  })
}

/** Makes a standby accept writes. Its primary is left as it is. */
export async function promote(standby: PostgresNode): Promise<void> {
  await standby.query('select pg_promote(true, 60)')
}

/** Starts a server on a folder that `fill` fills. */
async function startIn(fill: (folder: string, dataFolder: string) => Promise<void>): Promise<PostgresNode> {
  const folder = await mkdtemp(join(openFolder(), 'agent-postgres-'))
  const { uid, gid } = postgresIds()
  if (uid !== undefined && gid !== undefined) await chown(folder, uid, gid)
  await chmod(folder, 0o755)
  const dataFolder = join(folder, 'data')
  try {
    await fill(folder, dataFolder)
    const { postgres: program } = await postgresPrograms(folder)
    return await startPostgresNode({ program, folder, dataFolder, port: await freePort(), user, settings })
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

/** Copies the folder of a running server. Returns the text that tells the copy from where to replay. */
async function copyOf(primary: PostgresNode, folder: string, dataFolder: string): Promise<string> {
  // A backup belongs to its connection, which a pool does not keep.
  const client = await primary.connect()
  try {
    await client.query("select pg_backup_start('standby', true)")
    await run('cp', ['-a', primary.dataFolder, dataFolder], { ...postgresIds(), cwd: folder })
    await rm(join(dataFolder, 'postmaster.pid'), { force: true })
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
    return rows[0]?.labelfile ?? ''
  } finally {
    client.release()
  }
}

async function writeOwned(path: string, text: string): Promise<void> {
  await writeFile(path, text)
  const { uid, gid } = postgresIds()
  if (uid !== undefined && gid !== undefined) await chown(path, uid, gid)
}
