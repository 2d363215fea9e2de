import type { World } from '../seed/world.ts'
import type { Client, Person } from '../service.ts'
import type { Db } from '../store/store.ts'
import { listAccounts } from '../store/tables/accounts.ts'
import { listClients } from '../store/tables/list-clients.ts'

export interface Roster {
  people: Person[]
  clients: Client[]
  /** Returns the email address of an account, or an empty text. */
  emailOf(personId: string | undefined): string
}

/** Reads users and clients. Only the process that made their passwords and secrets knows them. */
export async function readRoster(db: Db, world: World | undefined): Promise<Roster> {
  const accounts = await listAccounts(db)
  const clients = await listClients(db)
  return {
    emailOf: (personId) => accounts.find(({ id }) => id === personId)?.email ?? '',
    people: accounts.map(({ id, name, email, tenantId, permissions }) => {
      const password = world?.people.find((person) => person.id === id)?.password ?? ''
      return { name, email, password, tenant: tenantId, permissions }
    }),
    clients: clients.map(({ id, name, kind, tenantId, redirectUris }) => {
      const clientSecret = world?.clients.find(({ clientId }) => clientId === id)?.clientSecret
      const secret = clientSecret === undefined ? {} : { clientSecret }
      return { name, clientId: id, kind, ...secret, tenant: tenantId, redirectUris }
    }),
  }
}
