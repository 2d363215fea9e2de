import type { ServiceOptions } from '../service-options.ts'

/** Returns the flag of the data file for a command to copy. It shows no URL of PostgreSQL, because that may hold a password. */
export function dataFlag({ dataFile }: ServiceOptions): string {
  if (dataFile === undefined) return ''
  return ` --data ${/^[\w./:\\-]+$/.test(dataFile) ? dataFile : JSON.stringify(dataFile)}`
}
