import type { StoreDialect } from './dialect.ts'

/** Where the data is kept; the URL or the file name, or neither for memory. */
export interface StoreLocation {
  readonly databaseUrl: string | undefined
  readonly dataFile: string | undefined
}

/** Loads the engine that is asked for and no other: most of a start is finding and reading modules. */
export async function openDialect({ databaseUrl, dataFile }: StoreLocation): Promise<StoreDialect> {
  if (databaseUrl === undefined) return (await import('./libsql.ts')).libsqlDialect(dataFile)
  return (await import('./postgres.ts')).postgresDialect(databaseUrl)
}
