import { spawnSync } from 'node:child_process'

const name = 'postgres'

function isRoot(): boolean {
  return process.geteuid?.() === 0
}

/** PostgreSQL refuses to run as root: a system user is made for it, once for all runs. */
function ensureUser(): void {
  if (!isRoot() || exists()) return
  spawnSync('groupadd', ['--force', name])
  const made = spawnSync('useradd', ['-g', name, name], { encoding: 'utf8' })
  // Another run may have made it in the same moment.
  if (!exists()) throw new Error(`PostgreSQL needs a user other than root, and none could be made: ${made.stderr}`)
}

/** The ids that PostgreSQL's programs run with: those of the system user if this process is root. */
export function postgresIds(): { uid?: number; gid?: number } {
  if (!isRoot()) return {}
  ensureUser()
  return { uid: idOf('-u'), gid: idOf('-g') }
}

function exists(): boolean {
  return spawnSync('id', ['-u', name]).status === 0
}

function idOf(flag: '-u' | '-g'): number {
  return Number(spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout)
}
