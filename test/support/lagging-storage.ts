import { leasedStorage, type SharedStorage } from '../../src/storage/shared/leased-storage.ts'

export interface LaggingStorage {
  readonly sessions: SharedStorage
  /** The records of the primary. */
  readonly records: Map<string, string>
  /** Copies the records of the primary to the replica. */
  catchUp(): void
}

/**
 * A storage with leases over one primary and one replica, which has only the writes before the last `catchUp`. As with Redis, reads
 * outside of a lock are answered by the replica, and a record that is missing there is read from the primary.
 */
export function laggingStorage(): LaggingStorage {
  const records = new Map<string, string>()
  let replica = new Map<string, string>()
  const owners = new Map<string, string>()
  const sessions = leasedStorage({
    read: async (key, from) => (from === 'primary' ? undefined : replica.get(key)) ?? records.get(key) ?? null,
    async write(key, value, lease) {
      const isHeld = !lease || owners.get(lease.name) === lease.owner
      if (isHeld) records.set(key, value)
      return isHeld
    },
    async remove(key, lease) {
      const isHeld = owners.get(lease.name) === lease.owner
      if (isHeld) records.delete(key)
      return isHeld
    },
    removeIf: async (key, value) => records.get(key) === value && records.delete(key),
    async acquire({ name, owner }) {
      if (owners.has(name)) return false
      owners.set(name, owner)
      return true
    },
    renew: async ({ name, owner }) => owners.get(name) === owner,
    release: async ({ name, owner }) => owners.get(name) === owner && owners.delete(name),
    reasonOf: () => undefined,
  })
  const catchUp = (): void => {
    replica = new Map(records)
  }
  return { sessions, records, catchUp }
}
