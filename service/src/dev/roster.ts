import type { Client, Person } from '../service.ts'
import type { Db } from '../store/store.ts'
import { listClients } from '../store/tables/clients.ts'
import { listPeople } from '../store/tables/people.ts'
import type { DemoWorld } from './demo-world.ts'

export interface Roster {
  people: Person[]
  clients: Client[]
}

/** Reads users and clients. Only the process that made their passwords and secrets knows them. */
export async function readRoster(db: Db, world: DemoWorld | undefined): Promise<Roster> {
  const people = await listPeople(db)
  const clients = await listClients(db)
  return {
    people: people.map(({ id, name, email, tenantId, permissions }) => {
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
