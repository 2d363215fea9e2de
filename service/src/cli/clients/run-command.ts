import { existsSync } from 'node:fs'
import { readClientForm } from '../../clients/client-form.ts'
import type { Credentials, RegistryContext, RegistryResult } from '../../clients/registry.ts'
import { createClient, retireSecret, rotateSecret, setActivity } from '../../clients/registry.ts'
import { loadKeys } from '../../credentials/keys.ts'
import { listOfNames } from '../../near-name.ts'
import type { Store } from '../../store/store.ts'
import { openStore } from '../../store/store.ts'
import type { ClientRecord } from '../../store/tables/clients.ts'
import { findClient } from '../../store/tables/clients.ts'
import type { RegistryChange } from '../../store/tables/tenant/registry-changes.ts'
import { commandLine } from '../../store/tables/tenant/registry-changes.ts'
import { listTenantIds } from '../../store/tables/tenants.ts'
import type { ClientsCommand } from './command-line.ts'

export interface ListedClient {
  clientId: string
  name: string
  kind: ClientRecord['kind']
  tenant: string
  state: 'active' | 'inactive'
  redirectUris: string[]
  secrets: { id: string; createdMs: number }[]
}

/** One line of the trail. */
export type ListedChange = RegistryChange & { tenant: string }

export type CommandResult = RegistryResult<
  { clients: ListedClient[] } | { changes: ListedChange[] } | Credentials | { clientId: string }
>

/** Changes the data, whether or not a service runs on it. The permission to open the database is enough. */
export async function runClientsCommand(command: ClientsCommand): Promise<CommandResult> {
  // Opening a misspelt name would create an empty database.
  const { dataFile, databaseUrl } = command.location
  if (dataFile !== undefined && !existsSync(dataFile))
    return refused(`there is no data file ${JSON.stringify(dataFile)}; a start with --data creates it`)
  const store = await openStore({ dataFile, databaseUrl }, { migrations: 'refuse' })
  try {
    if (command.action === 'list') return await list(store, command)
    return command.action === 'history' ? await history(store, command) : await change(store, command)
  } finally {
    await store.close()
  }
}

async function change(store: Store, command: ClientsCommand): Promise<CommandResult> {
  const client = command.client === undefined ? undefined : await findClient(store.db, command.client)
  const tenantId = client?.tenantId ?? command.tenant
  if (command.action !== 'create' && client === undefined)
    return refused('there is no such client; the action list shows all')
  const all = await listTenantIds(store.db)
  if (tenantId === undefined || !all.includes(tenantId)) return noTenant(all)
  const { hashKey } = await loadKeys(store.db)
  return perform({ tenant: store.forTenant(tenantId), hashKey, nowMs: Date.now(), actor: commandLine }, command)
}

async function perform(context: RegistryContext, command: ClientsCommand): Promise<CommandResult> {
  const { client: clientId = '', secret: secretId = '' } = command
  if (command.action === 'create') {
    const read = readClientForm(command)
    return read.kind === 'refused' ? read : createClient(context, read.form)
  }
  if (command.action === 'rotate-secret') return rotateSecret(context, clientId)
  const result =
    command.action === 'retire-secret'
      ? await retireSecret(context, { clientId, secretId })
      : await setActivity(context, { clientId, activity: command.action === 'activate' ? 'active' : 'inactive' })
  return result.kind === 'refused' ? result : { kind: 'done', value: { clientId } }
}

async function list(store: Store, { tenant }: ClientsCommand): Promise<CommandResult> {
  const all = await listTenantIds(store.db)
  if (tenant !== undefined && !all.includes(tenant)) return noTenant(all)
  const clients: ListedClient[] = []
  for (const tenantId of tenant === undefined ? all : [tenant]) {
    const registered = store.forTenant(tenantId).clients
    for (const { id, name, kind, active, redirectUris } of await registered.list()) {
      const secrets = await registered.activeSecrets(id, Date.now())
      const state = active ? 'active' : 'inactive'
      clients.push({ clientId: id, name, kind, tenant: tenantId, state, redirectUris, secrets })
    }
  }
  return { kind: 'done', value: { clients } }
}

async function history(store: Store, { tenant, client }: ClientsCommand): Promise<CommandResult> {
  const all = await listTenantIds(store.db)
  if (tenant !== undefined && !all.includes(tenant)) return noTenant(all)
  const changes: ListedChange[] = []
  for (const tenantId of tenant === undefined ? all : [tenant]) {
    const found = await store.forTenant(tenantId).registryChanges.list(client)
    changes.push(...found.map((one) => ({ ...one, tenant: tenantId })))
  }
  return { kind: 'done', value: { changes: changes.sort((a, b) => b.atMs - a.atMs) } }
}

function noTenant(all: readonly string[]): { kind: 'refused'; problem: string } {
  return refused(`there is no such tenant; there are ${listOfNames(all)}`)
}

function refused(problem: string): { kind: 'refused'; problem: string } {
  return { kind: 'refused', problem }
}
