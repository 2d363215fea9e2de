import type { ServiceOptions } from '../service-options.ts'
import { shellWord } from '../shell-word.ts'

/** Returns the flag of the data file for a command to copy. It shows no URL of PostgreSQL, because that may hold a password. */
export function dataFlag({ dataFile }: ServiceOptions): string {
  return dataFile === undefined ? '' : ` --data ${shellWord(dataFile)}`
}
