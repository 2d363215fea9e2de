import { inject } from 'vitest'
import { freshDatabase } from '../../test/support/fresh-database.ts'
import type { Assembly } from '../src/app.ts'
import * as app from '../src/app.ts'
import type { Service, ServiceOptions } from '../src/index.ts'
import * as service from '../src/index.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Which database the services of this run keep their data in. */
    serviceDatabase: 'libsql' | 'postgres'
  }
}

// Tests start services with these: the whole suite runs once on each database. Only what is about a file itself names
// a dataFile and stays on libSQL.

/** `createService` on the database of this run; its own fresh one goes when it closes. */
export function createService(options: ServiceOptions = {}): Promise<Service> {
  return onOwnDatabase(
    options,
    (all) => service.createService(all),
    (started) => started,
  )
}

/** `startService` on the database of this run. */
export function startService(options: ServiceOptions = {}): Promise<Service> {
  return onOwnDatabase(
    options,
    (all) => service.startService(all),
    (started) => started,
  )
}

/** `assemble` on the database of this run, for tests that look inside. */
export function assemble(options: ServiceOptions = {}): Promise<Assembly> {
  return onOwnDatabase(
    options,
    (all) => app.assemble(all),
    (started) => started.service,
  )
}

/** The database of this run is PostgreSQL. */
export function isOnPostgres(): boolean {
  return inject('serviceDatabase') === 'postgres'
}

async function onOwnDatabase<Started>(
  options: ServiceOptions,
  start: (options: ServiceOptions) => Promise<Started>,
  serviceOf: (started: Started) => Service,
): Promise<Started> {
  if (!isOnPostgres() || options.dataFile !== undefined || options.databaseUrl !== undefined) return start(options)
  const database = await freshDatabase()
  // The slow hash is slow on purpose; tests of it ask for it.
  const started = await start({ passwordScheme: 'keyed', ...options, databaseUrl: database.url }).catch(
    async (error: unknown) => {
      await database.drop()
      throw error
    },
  )
  const running = serviceOf(started)
  const close = running.close
  let closing: Promise<void> | undefined
  running.close = () => {
    closing ??= close().then(() => database.drop())
    return closing
  }
  return started
}
