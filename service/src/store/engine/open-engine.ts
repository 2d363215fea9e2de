import type { StoreEngine } from './engine.ts'

/** The URL or the file of the database. Without both, the data stays in memory. */
export interface StoreLocation {
  readonly databaseUrl: string | undefined
  readonly dataFile: string | undefined
}

/** Loads only the module of the engine that is used, because loading modules takes most of a start. The bundled command
 * has both in one file. */
export async function openEngine({ databaseUrl, dataFile }: StoreLocation): Promise<StoreEngine> {
  if (databaseUrl === undefined) return (await import('./libsql.ts')).libsqlEngine(dataFile)
  return (await import('./postgres.ts')).postgresEngine(databaseUrl)
}
