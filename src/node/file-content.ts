import { objectOf, parseObject } from '../internal/values.ts'
import { refuse } from './private-file.ts'

/** A lease in a file. It holds as long as its owner goes on to renew it. */
export interface FileLease {
  readonly owner: string
  readonly renewals: number
}

/** An empty file, or the beginning of a file of this version. */
const damagedText = /^([\s\0]*$|\{\s*"v"\s*:\s*1\s*[,}])/

/**
 * Reads the text of the file of records at this path. Throws `storage_failed` for a file of a newer version or of another program,
 * which must stay.
 */
export function parseRecords(path: string, text: string | undefined): Map<string, string> | 'damaged' {
  if (text === undefined) return new Map()
  const { v, records: stored } = parseObject(text) ?? {}
  const records = objectOf(stored)
  if (Number.isInteger(v) && (v as number) > 1)
    refuse(path, 'is of a newer version of agent-auth. Update agent-auth or choose another path')
  if (v !== 1 || !records) {
    if (damagedText.test(text)) return 'damaged'
    refuse(path, 'is no file of agent-auth. Choose another path')
  }
  return new Map(Object.entries(records).filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

/** Returns the text of a file of records. */
export function formatRecords(records: Map<string, string>): string {
  return `${JSON.stringify({ v: 1, records: Object.fromEntries(records) }, null, 2)}\n`
}

/** Reads a file of leases. Text of another form holds none, because a power failure may damage the file. */
export function parseLeases(text: string | undefined): Map<string, FileLease> {
  const entries = Object.entries(parseObject(text ?? '') ?? {})
  return new Map(entries.filter((entry): entry is [string, FileLease] => isLease(entry[1])))
}

/** Returns the text of a file of leases, or undefined if there are none. */
export function formatLeases(leases: Map<string, FileLease>): string | undefined {
  return leases.size ? JSON.stringify(Object.fromEntries(leases)) : undefined
}

function isLease(value: unknown): value is FileLease {
  const { owner, renewals } = objectOf(value) ?? {}
  return typeof owner === 'string' && typeof renewals === 'number'
}
