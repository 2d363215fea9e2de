import type { Kysely, Migration } from 'kysely'
import type { StoreEngine } from '../engine/engine.ts'
import { createApiTables } from './001-api.ts'
import { createAuthTables } from './001-auth.ts'
import { addSecretTimes } from './002-secret-times.ts'
import { createRegistryEvents } from './003-registry-events.ts'
import { addSearchIndexes } from './004-search-indexes.ts'
import { foldSearchText } from './005-search-text.ts'
import { keepNamesAsSent } from './006-names-as-sent.ts'
import { indexRequestsBySession } from './007-requests-by-session.ts'
import { markCarriedRequests } from './008-carried-requests.ts'
import { addPageOrigins } from './009-page-origins.ts'
import { addAgentTrigrams } from './010-agent-trigrams.ts'

/**
 * In order of their names. A published migration never changes; a new one is added. `openStore` (store.ts) runs them, in one
 * process at a time.
 */
export function migrations(engine: StoreEngine): Record<string, Migration> {
  return {
    '001-first-tables': {
      async up(db: Kysely<unknown>): Promise<void> {
        await createAuthTables(db, engine)
        await createApiTables(db, engine)
      },
    },
    '002-secret-times': { up: addSecretTimes },
    '003-registry-events': { up: (db: Kysely<unknown>) => createRegistryEvents(db, engine) },
    '004-search-indexes': { up: (db: Kysely<unknown>) => addSearchIndexes(db, engine) },
    '005-search-text': { up: foldSearchText },
    '006-names-as-sent': { up: keepNamesAsSent },
    '007-requests-by-session': { up: indexRequestsBySession },
    '008-carried-requests': { up: markCarriedRequests },
    '009-page-origins': { up: addPageOrigins },
    '010-agent-trigrams': { up: addAgentTrigrams },
  }
}
