import type { InferResult } from 'kysely'
import type { Db, RawDatabase } from '../database.ts'
import { rawDatabase } from '../database.ts'
import type { RegisteredClient } from './clients.ts'
import { clientColumns, clientOf } from './clients.ts'

/** Lists every client with its redirect URIs, in the order in which they were added. */
export async function listClients(db: Db): Promise<RegisteredClient[]> {
  return registeredClientsOf(await selectRegisteredClients(rawDatabase(db)).execute())
}

/** Lists the clients of a tenant with their redirect URIs, in the order in which they were added. */
export async function listClientsOf(db: Db, tenantId: string): Promise<RegisteredClient[]> {
  const own = selectRegisteredClients(rawDatabase(db)).where('clients.tenant_id', '=', tenantId)
  return registeredClientsOf(await own.execute())
}

function selectRegisteredClients(db: RawDatabase) {
  return db
    .selectFrom('clients')
    .select(clientColumns)
    .leftJoin('client_redirect_uris as uri', 'uri.client_id', 'clients.id')
    .select('uri.redirect_uri')
    .orderBy('clients.position')
    .orderBy('uri.position')
}

/** Returns the clients of rows of which each has one redirect URI, or none if the client has none. */
function registeredClientsOf(rows: InferResult<ReturnType<typeof selectRegisteredClients>>): RegisteredClient[] {
  const clients = new Map<string, RegisteredClient>()
  for (const row of rows) {
    const listed = clients.get(row.id) ?? { ...clientOf(row), redirectUris: [] }
    if (row.redirect_uri !== null) listed.redirectUris.push(row.redirect_uri)
    clients.set(row.id, listed)
  }
  return [...clients.values()]
}
