import { execFile } from 'node:child_process'
import { chown, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type PostgresNode, postgresUser, startPostgresNode } from './postgres-node.ts'
import { postgresIds } from './postgres-user.ts'
import { untilServer } from './until.ts'

const run = promisify(execFile)

/** A commit waits for a synchronous standby. */
const settings = {
  max_connections: '100',
  shared_buffers: '16MB',
  wal_keep_size: '64MB',
  wal_receiver_status_interval: '1s',
  wal_retrieve_retry_interval: '100ms',
}

/** Starts an empty PostgreSQL that can have standbys. */
export async function startPrimary(): Promise<PostgresNode> {
  return startPostgresNode({ settings })
}

/** Starts a streaming standby of a primary from a copy of its folder, and resolves when it has what the primary has. */
export async function startStandby(primary: PostgresNode): Promise<PostgresNode> {
  const fill = async (folder: string, dataFolder: string): Promise<void> => {
    const label = await copyOf(primary, folder, dataFolder)
    const connection = `primary_conninfo = 'host=127.0.0.1 port=${primary.port} user=${postgresUser} application_name=standby'\n`
    const files = { backup_label: label, 'standby.signal': '', 'postgresql.auto.conf': connection }
    for (const [name, text] of Object.entries(files)) await writeOwned(join(dataFolder, name), text)
  }
  const standby = await startPostgresNode({ settings, fill })
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
