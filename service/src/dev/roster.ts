import type { Client, Person } from '../service.ts'
import type { Db } from '../store/store.ts'
import type { DemoWorld } from './demo-world.ts'

export interface Roster {
  people: Person[]
  clients: Client[]
}

/** People and clients with the passwords and secrets that only the process that made them knows. */
export async function readRoster(db: Db, world: DemoWorld | undefined): Promise<Roster> {
  const people = await db.selectFrom('people').selectAll().orderBy('position').execute()
  const clients = await db.selectFrom('clients').selectAll().orderBy('position').execute()
  const uris = await db.selectFrom('client_redirect_uris').selectAll().orderBy('position').execute()
  return {
    people: people.map((row) => ({
      name: row.name,
      email: row.email,
      password: world?.people.find(({ id }) => id === row.id)?.password ?? '',
      tenant: row.tenant_id,
      permissions: JSON.parse(row.permissions),
    })),
    clients: clients.map((row) => {
      const clientSecret = world?.clients.find(({ clientId }) => clientId === row.id)?.clientSecret
      return {
        name: row.name,
        clientId: row.id,
        kind: row.kind,
        ...(clientSecret === undefined ? {} : { clientSecret }),
        tenant: row.tenant_id,
        redirectUris: uris.filter((uri) => uri.client_id === row.id).map((uri) => uri.redirect_uri),
      }
    }),
  }
}
