import {
  createClient,
  type RegistryContext,
  type RegistryResult,
  readClientForm,
  retireSecret,
  rotateSecret,
  setActivity,
} from '../clients/registry.ts'
import { loadKeys } from '../credentials/tokens.ts'
import { firstNames, listed } from '../issue-text.ts'
import { storeLimits } from '../limits.ts'
import { clientRegistryOf, commandLine } from '../store/client-registry.ts'
import { findClient } from '../store/clients.ts'
import type { Store } from '../store/store.ts'
import { listTenantIds } from '../store/tenants.ts'
import { dataFlags, dataHelp, neededFlag, type OfflineCommand, onStore } from './offline.ts'
import { ArgumentError, type FlagValues } from './read-command.ts'

const help = `agent-service clients: the API clients of a data file or of DATABASE_URL

  agent-service clients ACTION --data FILE …

  create         --tenant ID --name NAME --redirect-uri URI … [--kind KIND]
                 registers a client, active and approved for its tenant; prints its id and, once, its secret
  list           [--tenant ID]
                 lists clients with their redirect URIs and the ids of their secrets, never a secret
  history        [--tenant ID] [--client ID]
                 lists who changed which client and when, newest first; at most the last ${storeLimits.registryChanges} changes of a tenant
  activate       --client ID
  deactivate     --client ID
                 takes effect with its next request
  rotate-secret  --client ID
                 creates a second secret and prints it once; the first works until retire-secret
  retire-secret  --client ID --secret ID
                 ends one of two secrets; list shows their ids

  --name NAME            1 to 100 characters; users see it on the consent page
  --redirect-uri URI     https, or http on 127.0.0.1 or [::1] (not localhost); 1 to 10 of them
  --kind KIND            public (default: PKCE, no secret) or confidential
  --json                 print one JSON line instead of text
${dataHelp}
A service may run on the same data. The history also has the changes that admins made on the pages.
`

export const clients: OfflineCommand = {
  name: 'clients',
  help: () => help,
  flags: {
    ...dataFlags,
    json: { type: 'boolean' },
    tenant: { type: 'string' },
    client: { type: 'string' },
    secret: { type: 'string' },
    name: { type: 'string' },
    kind: { type: 'string' },
    'redirect-uri': { type: 'string', multiple: true },
  },
  async run({ words: [name = '', ...more], flags, location }) {
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined
    if (action === undefined || more.length > 0)
      throw new ArgumentError(`clients takes one of ${listed(Object.keys(actions))}, and options`)
    const run = action(flags)
    const { value, text } = await onStore(location, run)
    return flags.json === true ? `${JSON.stringify(value)}\n` : text
  },
}

/** What an action did, for `--json` and for people. */
interface Done {
  value: object
  text: string
}

/** Checks the flags of an action, before the data is opened. */
const actions: Record<string, (flags: FlagValues) => (store: Store) => Promise<Done>> = {
  create(flags) {
    const tenant = neededFlag(flags, 'tenant')
    const uris = flags['redirect-uri']
    const redirectUris = Array.isArray(uris) ? uris.map(String) : []
    const read = readClientForm({ name: neededFlag(flags, 'name'), kind: String(flags.kind ?? 'public'), redirectUris })
    if (read.kind === 'refused') throw new ArgumentError(`${read.problem}; see --name, --kind and --redirect-uri`)
    return async (store) => {
      await tenantsOf(store, tenant)
      return credentialsText(done(await createClient(await contextOf(store, tenant), read.form)))
    }
  },
  list: (flags) => (store) => list(store, flags.tenant),
  history: (flags) => (store) => history(store, flags),
  activate: (flags) => changeActivity(flags, 'active'),
  deactivate: (flags) => changeActivity(flags, 'inactive'),
  'rotate-secret'(flags) {
    const clientId = neededFlag(flags, 'client')
    return async (store) => credentialsText(done(await rotateSecret(await contextOfClient(store, clientId), clientId)))
  },
  'retire-secret'(flags) {
    const [clientId, secretId] = [neededFlag(flags, 'client'), neededFlag(flags, 'secret')]
    return async (store) => {
      done(await retireSecret(await contextOfClient(store, clientId), { clientId, secretId }))
      return { value: { clientId }, text: `${clientId} retire-secret: done\n` }
    }
  },
}

function changeActivity(flags: FlagValues, activity: 'active' | 'inactive') {
  const clientId = neededFlag(flags, 'client')
  return async (store: Store): Promise<Done> => {
    done(await setActivity(await contextOfClient(store, clientId), { clientId, activity }))
    return { value: { clientId }, text: `${clientId} is ${activity}\n` }
  }
}

function done<Value>(result: RegistryResult<Value>): Value {
  if (result.kind === 'refused') throw new Error(result.problem)
  return result.value
}

function credentialsText(value: { clientId: string; clientSecret: string | undefined }): Done {
  const secret = value.clientSecret === undefined ? '' : `secret ${value.clientSecret}\n`
  return { value, text: `client ${value.clientId}\n${secret}` }
}

async function contextOfClient(store: Store, clientId: string): Promise<RegistryContext> {
  const client = await findClient(store.db, clientId)
  if (client === undefined) throw new Error('there is no such client; the action list shows all')
  return contextOf(store, client.tenantId)
}

async function contextOf(store: Store, tenant: string): Promise<RegistryContext> {
  const { hashKey } = await loadKeys(store.db)
  return { registry: clientRegistryOf(store.db, tenant), hashKey, nowMs: Date.now(), actor: commandLine }
}

/** Returns the tenant that is named, or all of them. */
async function tenantsOf(store: Store, tenant: unknown): Promise<string[]> {
  const all = await listTenantIds(store.db)
  if (tenant === undefined) return all
  if (typeof tenant === 'string' && all.includes(tenant)) return [tenant]
  throw new Error(`there is no such tenant; there are ${firstNames(all)}`)
}

async function list(store: Store, named: unknown): Promise<Done> {
  const found = []
  for (const tenant of await tenantsOf(store, named)) {
    const registered = clientRegistryOf(store.db, tenant)
    for (const { id, name, kind, active, redirectUris } of await registered.list()) {
      const secrets = await registered.activeSecrets(id, Date.now())
      const state = active ? 'active' : 'inactive'
      found.push({ clientId: id, name, kind, tenant, state, redirectUris, secrets })
    }
  }
  const lines = found.flatMap(({ clientId, state, kind, tenant, name, redirectUris, secrets }) => [
    `${clientId} ${state} (${kind}, tenant ${tenant}) ${name}\n`,
    ...redirectUris.map((uri) => `  ${uri}\n`),
    ...secrets.map(({ id, createdMs }) => `  ${id} made ${new Date(createdMs).toISOString()}\n`),
  ])
  return { value: { clients: found }, text: lines.join('') }
}

async function history(store: Store, { tenant: named, client }: FlagValues): Promise<Done> {
  const changes = []
  for (const tenant of await tenantsOf(store, named)) {
    const found = await clientRegistryOf(store.db, tenant).changes(typeof client === 'string' ? client : undefined)
    changes.push(...found.map((change) => ({ ...change, tenant })))
  }
  changes.sort((a, b) => b.atMs - a.atMs)
  const lines = changes.map(({ atMs, event, clientId, tenant, actor }) => {
    return `${new Date(atMs).toISOString()} ${event} ${clientId} (tenant ${tenant}) by ${actor}\n`
  })
  return { value: { changes }, text: lines.join('') }
}
