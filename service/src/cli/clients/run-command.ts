import { existsSync } from 'node:fs'
import { readClientForm } from '../../clients/new-client.ts'
import type { Credentials, Outcome, RegistryContext } from '../../clients/registry.ts'
import { createClient, retireSecret, rotateSecret, setActivity } from '../../clients/registry.ts'
import { loadKeys } from '../../credentials/keys.ts'
import type { Db } from '../../store/store.ts'
import { openStore } from '../../store/store.ts'
import { clientRegistryOf } from '../../store/tables/client-registry.ts'
import type { ClientRecord } from '../../store/tables/clients.ts'
import { findClient } from '../../store/tables/clients.ts'
import type { RegistryChange } from '../../store/tables/registry-events.ts'
import { commandLine, listRegistryChanges } from '../../store/tables/registry-events.ts'
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

export type CommandResult = Outcome<
  { clients: ListedClient[] } | { changes: ListedChange[] } | Credentials | { clientId: string }
>

/** Works on the data itself, whether or not a service runs on it. Being able to open it is the permission. */
export async function runClientsCommand(command: ClientsCommand): Promise<CommandResult> {
  // Opening would make an empty database out of a misspelt name.
  const { dataFile, databaseUrl } = command.location
  if (dataFile !== undefined && !existsSync(dataFile))
    return refused(`there is no data file ${JSON.stringify(dataFile)}`)
  const store = await openStore({ dataFile, databaseUrl })
  try {
    if (command.action === 'list') return await list(store.db, command)
    return command.action === 'history' ? await history(store.db, command) : await change(store.db, command)
  } finally {
    await store.close()
  }
}

async function change(db: Db, command: ClientsCommand): Promise<CommandResult> {
  const client = command.client === undefined ? undefined : await findClient(db, command.client)
  const tenantId = client?.tenantId ?? command.tenant
  if (command.action !== 'create' && client === undefined) return refused('there is no such client')
  if (tenantId === undefined || !(await tenants(db)).includes(tenantId)) return refused('there is no such tenant')
  const { hashKey } = await loadKeys(db)
  return perform({ db, hashKey, nowMs: Date.now(), tenantId, actor: commandLine }, command)
}

async function perform(context: RegistryContext, command: ClientsCommand): Promise<CommandResult> {
  const { client: clientId = '', secret: secretId = '' } = command
  if (command.action === 'create') {
    const read = readClientForm(command)
    return read.kind === 'refused' ? read : { kind: 'done', value: await createClient(context, read.form) }
  }
  if (command.action === 'rotate-secret') return rotateSecret(context, clientId)
  const outcome =
    command.action === 'retire-secret'
      ? await retireSecret(context, { clientId, secretId })
      : await setActivity(context, { clientId, activity: command.action === 'activate' ? 'active' : 'inactive' })
  return outcome.kind === 'refused' ? outcome : { kind: 'done', value: { clientId } }
}

async function list(db: Db, { tenant }: ClientsCommand): Promise<CommandResult> {
  const all = await tenants(db)
  if (tenant !== undefined && !all.includes(tenant)) return refused('there is no such tenant')
  const clients: ListedClient[] = []
  for (const tenantId of tenant === undefined ? all : [tenant]) {
    const registry = clientRegistryOf(db, tenantId)
    for (const { id, name, kind, active, redirectUris } of await registry.list()) {
      const secrets = await registry.activeSecrets(id, Date.now())
      const state = active ? 'active' : 'inactive'
      clients.push({ clientId: id, name, kind, tenant: tenantId, state, redirectUris, secrets })
    }
  }
  return { kind: 'done', value: { clients } }
}

async function history(db: Db, { tenant, client }: ClientsCommand): Promise<CommandResult> {
  const all = await tenants(db)
  if (tenant !== undefined && !all.includes(tenant)) return refused('there is no such tenant')
  const changes: ListedChange[] = []
  for (const tenantId of tenant === undefined ? all : [tenant]) {
    const found = await listRegistryChanges(db, tenantId, client)
    changes.push(...found.map((one) => ({ ...one, tenant: tenantId })))
  }
  return { kind: 'done', value: { changes: changes.sort((a, b) => b.atMs - a.atMs) } }
}

async function tenants(db: Db): Promise<string[]> {
  const rows = await db.selectFrom('tenants').select('id').orderBy('id').execute()
  return rows.map(({ id }) => id)
}

function refused(problem: string): { kind: 'refused'; problem: string } {
  return { kind: 'refused', problem }
}
