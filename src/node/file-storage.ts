import { resolve } from 'node:path'
import { isAgentAuthError } from '../errors.ts'
import { checkNames, invalid } from '../internal/values.ts'
import type { Lease } from '../storage/shared/lease.ts'
import { leasedStorage, type RecordDatabase, type SharedStorage } from '../storage/shared/leased-storage.ts'
import { type FileLease, formatLeases, formatRecords, parseLeases, parseRecords } from './file-content.ts'
import { fileFailure, readPrivateFile, type Trusted } from './private-file.ts'
import { type Replacement, replaceFile } from './replace-file.ts'
import { unchangedMs } from './unchanged.ts'

/** The options of `fileStorage`. */
export interface FileStorageOptions {
  /**
   * Accepts files and folders that their group can read and change, for platforms that set owners and modes, such as Kubernetes with
   * `fsGroup` and OpenShift. Every member of the group can then use the sessions. Default: false.
   */
  readonly trustGroup?: boolean | undefined
}

/**
 * Creates a storage in one file that only this user can read, for the processes of one machine. Creates the file with mode 0600
 * and its folder with mode 0700. Closes a file or folder of this user that is open to its group, with a warning of the process. A killed
 * process leaves each record whole. Within a lock only the lock owner can write. The lock of a process that was killed ends 8 s after
 * another one asks for it. The size of the file has no limit. Throws `config_invalid`.
 */
export function fileStorage(path: string, options: FileStorageOptions = {}): SharedStorage {
  const { trustGroup = false } = checkNames('fileStorage', options, ['trustGroup'])
  if (typeof path !== 'string' || !path || path.includes('\0')) invalid('path must be a string that names a file')
  if (/^(~|\$\w|\$\{|%\w+%)/.test(path))
    invalid('path must not begin with ~ or a variable, which only a shell replaces. Use os.homedir()')
  return leasedStorage(fileDatabase(resolve(path), trustGroup === true ? 'group' : 'no one'))
}

function fileDatabase(path: string, trusted: Trusted): RecordDatabase {
  const leaseFile = `${path}.leases`
  const recordsNow = () => parseRecords(path, readPrivateFile(path, trusted))
  const leasesNow = (): Map<string, FileLease> => parseLeases(readPrivateFile(leaseFile, trusted))
  const step = (change: () => Replacement | undefined): Promise<boolean> => runStep(path, trusted, change)
  const isOwner = (lease: Lease | undefined): boolean =>
    lease === undefined || leasesNow().get(lease.name)?.owner === lease.owner
  const sameMs = unchangedMs()
  const isHeld = (name: string, lease: FileLease | undefined, leaseMs: number): boolean =>
    sameMs(name, lease && `${lease.owner} ${lease.renewals}`) <= leaseMs && lease !== undefined
  const changeRecords = (lease: Lease | undefined, change: (records: Map<string, string>) => boolean) =>
    step(() => {
      const stored = recordsNow()
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
      const records = translated(path, recordsNow)
      // A session reports a record that it cannot read, and removes it.
      return records === 'damaged' ? '' : (records.get(key) ?? null)
    },
    write: (key, value, lease) => changeRecords(lease, (records) => records.set(key, value).has(key)),
    remove: (key, lease) => changeRecords(lease, (records) => records.delete(key) || true),
    removeIf: (key, value) => changeRecords(undefined, (records) => records.get(key) === value && records.delete(key)),
    async acquire({ name, owner }, leaseMs) {
      // Waiting processes ask often, and a look needs no lock file.
      if (isHeld(name, translated(leaseFile, leasesNow).get(name), leaseMs)) return false
      return changeLeases((leases) => {
        for (const [other, lease] of leases) if (!isHeld(other, lease, leaseMs)) leases.delete(other)
        return !leases.has(name) && leases.set(name, { owner, renewals: 0 }).has(name)
      })
    },
    renew: ({ name, owner }) =>
      changeLeases((leases) => {
        const lease = leases.get(name)
        return lease?.owner === owner && leases.set(name, { owner, renewals: lease.renewals + 1 }).has(name)
      }),
    release: ({ name, owner }) => changeLeases((leases) => leases.get(name)?.owner === owner && leases.delete(name)),
    reasonOf: () => undefined,
  }
}

/** Runs one step. Resolves to whether it replaced a file. */
async function runStep(path: string, trusted: Trusted, change: () => Replacement | undefined): Promise<boolean> {
  let replacement: Replacement | undefined
  try {
    await replaceFile(`${path}.lock`, trusted, () => {
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
