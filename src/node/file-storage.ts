import { resolve } from 'node:path'
import { isAgentAuthError } from '../errors.ts'
import { checkNames, invalid, objectOf, parseObject } from '../internal/values.ts'
import type { Lease } from '../storage/shared/lease.ts'
import { leasedStorage, type RecordDatabase, type SharedStorage } from '../storage/shared/leased-storage.ts'
import { fileFailure, readPrivateFile, refuse, type Trusted } from './private-file.ts'
import { type Replacement, replaceFile, unchangedMs } from './replace-file.ts'

/** The options of `fileStorage`. */
export interface FileStorageOptions {
  /**
   * Accepts files and folders that their group can read and change, for platforms that set owners and modes, such as Kubernetes with
   * `fsGroup` and OpenShift. Every member of the group can then use the sessions. Default: false.
   */
  readonly trustGroup?: boolean | undefined
}

/** A lease in a file. It holds as long as its owner goes on to renew it. */
interface FileLease {
  readonly owner: string
  readonly renewals: number
}

/** An empty file, or the beginning of a file of this version. */
const damagedText = /^([\s\0]*$|\{\s*"v"\s*:\s*1\s*[,}])/

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
  // Text of another form holds no leases, because a power failure may damage the file.
  const leasesNow = () =>
    new Map(Object.entries((parseObject(readPrivateFile(leaseFile, trusted) ?? '') ?? {}) as Record<string, FileLease>))
  const step = (change: () => Replacement | undefined): Promise<boolean> =>
    translated(path, () => replaceFile(`${path}.lock`, trusted, change))
  const sameMs = unchangedMs()
  const isHeld = (name: string, lease: FileLease | undefined, leaseMs: number): boolean =>
    sameMs(name, lease && `${lease.owner} ${lease.renewals}`) <= leaseMs && lease !== undefined
  const changeRecords = (lease: Lease | undefined, change: (records: Map<string, string>) => boolean) =>
    step(() => {
      const stored = recordsNow()
      const records = stored === 'damaged' ? new Map<string, string>() : stored
      if (lease && leasesNow().get(lease.name)?.owner !== lease.owner) return undefined
      const text = change(records) && JSON.stringify({ v: 1, records: Object.fromEntries(records) }, null, 2)
      return text ? { path, text: `${text}\n`, lasts: 'always' } : undefined
    })
  const changeLeases = (change: (leases: Map<string, FileLease>) => boolean) =>
    step(() => {
      const leases = leasesNow()
      if (!change(leases)) return undefined
      const text = leases.size > 0 ? JSON.stringify(Object.fromEntries(leases)) : undefined
      return { path: leaseFile, text, lasts: 'until power fails' }
    })
  const release = ({ name, owner }: Lease): Promise<boolean> =>
    changeLeases((leases) => leases.get(name)?.owner === owner && leases.delete(name))
  /** Shows what would prevent a write, such as a full disk, before a refresh spends its token. */
  const replaceByCopy = (): Promise<boolean> =>
    step(() => {
      const text = readPrivateFile(path, trusted)
      // A file of another program, or of a newer version, is left alone.
      return text && parseRecords(path, text) !== 'damaged' ? { path, text, lasts: 'always' } : undefined
    })
  return {
    async read(key) {
      const records = await translated(path, recordsNow)
      // A session reports a record that it cannot read, and removes it.
      return records === 'damaged' ? '' : (records.get(key) ?? null)
    },
    write: (key, value, lease) => changeRecords(lease, (records) => records.set(key, value).has(key)),
    remove: (key, lease) => changeRecords(lease, (records) => records.delete(key) || true),
    removeIf: (key, value) => changeRecords(undefined, (records) => records.get(key) === value && records.delete(key)),
    async acquire({ name, owner }, leaseMs) {
      // Waiting processes ask often, and a look needs no lock file.
      const leasesSeen = await translated(leaseFile, leasesNow)
      if (isHeld(name, leasesSeen.get(name), leaseMs)) return false
      const isTaken = await changeLeases((leases) => {
        for (const [other, lease] of leases) if (!isHeld(other, lease, leaseMs)) leases.delete(other)
        return !leases.has(name) && leases.set(name, { owner, renewals: 0 }).has(name)
      })
      try {
        if (isTaken) await replaceByCopy()
      } catch (error) {
        await release({ name, owner })
        throw error
      }
      return isTaken
    },
    renew: ({ name, owner }) =>
      changeLeases((leases) => {
        const lease = leases.get(name)
        return lease?.owner === owner && leases.set(name, { owner, renewals: lease.renewals + 1 }).has(name)
      }),
    release,
    reasonOf: () => undefined,
  }
}

/**
 * Reads the text of the file of records at this path. Throws `storage_failed` for a file of a newer version or of another program,
 * which must stay.
 */
function parseRecords(path: string, text: string | undefined): Map<string, string> | 'damaged' {
  if (text === undefined) return new Map()
  const { v, records: stored } = parseObject(text) ?? {}
  const records = objectOf(stored)
  if (Number.isInteger(v) && (v as number) > 1)
    refuse(path, 'is of a newer version of agent-auth. Update agent-auth or choose another path')
  if (v === 1 && records) return new Map(Object.entries(records as Record<string, string>))
  if (damagedText.test(text)) return 'damaged'
  refuse(path, 'is no file of agent-auth. Choose another path')
}

/** Does work with the file system. Rejects with `storage_failed`. */
async function translated<T>(path: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isAgentAuthError(error) ? error : fileFailure(path, error)
  }
}
