import { resolve } from 'node:path'
import { checkArgument } from '../config/check-options.ts'
import { invalid } from '../config/invalid.ts'
import { isAgentAuthError } from '../errors.ts'
import type { Lease } from '../storage/shared/lease.ts'
import { leasedStorage, type RecordDatabase, type SharedStorage } from '../storage/shared/leased-storage.ts'
import { type FileLease, formatLeases, formatRecords, parseLeases, parseRecords } from './file-content.ts'
import { fileFailure, readPrivateFile } from './private-file.ts'
import { type Replacement, replaceFile } from './replace-file.ts'

/**
 * Creates a storage in one file that only this user can read, for the processes of one machine. Creates the file with mode 0600
 * and its folder with mode 0700. A killed process leaves each record whole. Within a lock only the lock owner can write. The lock of a
 * process that was killed ends by itself after 8 s at most. Each write takes the lock file `<path>.lock` for a moment, which others
 * take over after 1.5 s if its process was killed (replace-file.ts). The size of the file has no limit. Throws `config_invalid`.
 */
export function fileStorage(path: string): SharedStorage
export function fileStorage(path: string, ...others: readonly unknown[]): SharedStorage {
  if (others.some((other) => other !== undefined))
    invalid('fileStorage takes a path alone. To encrypt the records, use keychainStorage or encryptedStorage')
  if ((path as unknown) instanceof URL) invalid('path must be a string. Use fileURLToPath(url) of node:url')
  checkArgument('path', path, 'string')
  if (!path || path.includes('\0')) invalid('path must name a file')
  if (/^(~|\$\w|\$\{|%\w+%)/.test(path))
    invalid('path must not begin with ~ or a variable, which only a shell replaces. Use os.homedir()')
  return leasedStorage(fileDatabase(resolve(path)))
}

function fileDatabase(path: string): RecordDatabase {
  const leaseFile = `${path}.leases`
  const leasesNow = (): Map<string, FileLease> => parseLeases(readPrivateFile(leaseFile))
  const step = (change: () => Replacement | undefined): Promise<boolean> => runStep(path, change)
  const isOwner = (lease: Lease | undefined): boolean =>
    lease === undefined || leasesNow().get(lease.name)?.owner === lease.owner
  const changeRecords = (lease: Lease | undefined, change: (records: Map<string, string>) => boolean) =>
    step(() => {
      const stored = parseRecords(path, readPrivateFile(path))
      const records = stored === 'damaged' ? new Map<string, string>() : stored
      if (!isOwner(lease) || !change(records)) return undefined
      return { path, text: formatRecords(records), lasts: 'always' }
    })
  const changeLeases = (change: (leases: Map<string, FileLease>) => boolean) =>
    step(() => {
      const leases = leasesNow()
      return change(leases) ? { path: leaseFile, text: formatLeases(leases), lasts: 'until power fails' } : undefined
    })
  return {
    async read(key) {
      const records = translated(path, () => parseRecords(path, readPrivateFile(path)))
      // A session reports a record that it cannot read, and removes it.
      return records === 'damaged' ? '' : (records.get(key) ?? null)
    },
    write: (key, value, lease) => changeRecords(lease, (records) => records.set(key, value).has(key)),
    remove: (key, lease) => changeRecords(lease, (records) => records.delete(key) || true),
    removeIf: (key, value) => changeRecords(undefined, (records) => records.get(key) === value && records.delete(key)),
    async acquire({ name, owner }, leaseMs) {
      // Waiting processes ask often, and a look needs no lock file.
      if (isHeld(translated(leaseFile, leasesNow).get(name), leaseMs)) return false
      return changeLeases((leases) => {
        for (const [other, lease] of leases) if (!isHeld(lease, leaseMs)) leases.delete(other)
        return !leases.has(name) && leases.set(name, leaseOf(owner, leaseMs)).has(name)
      })
    },
    renew: ({ name, owner }, leaseMs) =>
      changeLeases(
        (leases) => leases.get(name)?.owner === owner && leases.set(name, leaseOf(owner, leaseMs)).has(name),
      ),
    release: ({ name, owner }) => changeLeases((leases) => leases.get(name)?.owner === owner && leases.delete(name)),
    reasonOf: () => undefined,
  }
}

/** Runs one step. Resolves to whether it replaced a file. */
async function runStep(path: string, change: () => Replacement | undefined): Promise<boolean> {
  let replacement: Replacement | undefined
  try {
    await replaceFile(`${path}.lock`, () => {
      replacement = change()
      return replacement
    })
    return replacement !== undefined
  } catch (error) {
    throw isAgentAuthError(error) ? error : fileFailure(path, error)
  }
}

function translated<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw isAgentAuthError(error) ? error : fileFailure(path, error)
  }
}

function leaseOf(owner: string, leaseMs: number): FileLease {
  return { owner, endsAtMs: Date.now() + leaseMs }
}

/** Returns whether a lease holds. One that ends later than a new one would was written before the clock was set back. */
function isHeld(lease: FileLease | undefined, leaseMs: number): boolean {
  if (!lease) return false
  const leftMs = lease.endsAtMs - Date.now()
  return leftMs > 0 && leftMs <= leaseMs
}
