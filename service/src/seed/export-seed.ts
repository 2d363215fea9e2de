import type { SeedRows } from '../store/read-seed-rows.ts'
import { keyOf } from '../store/tenant.ts'
import type { Seed, SeedAgent, SeedClient, SeedContextGroup, SeedPerson } from './seed-schema.ts'

/**
 * Returns data as a seed that names every id, time and default, so that its export is the same text again. It has the hashes
 * of passwords and client secrets, and no tokens.
 */
export function seedOf(data: SeedRows): Seed {
  const keys = new Map(data.keys.map(({ name, value }) => [name, value]))
  const billing = JSON.parse(keys.get('endpoint-billing') ?? '{}') as Seed['endpointBilling']
  const groups = grouped(data.contextGroups, ({ agent_id }) => agent_id)
  return {
    hashKey: keys.get('hash'),
    ...(Object.keys(billing ?? {}).length === 0 ? {} : { endpointBilling: billing }),
    tenants: data.tenants.map(({ id, name, active, billing_active }) => {
      return { id, name, activity: activityOf(active), billing: activityOf(billing_active) }
    }),
    people: data.people.map(personOf),
    clients: clientsOf(data),
    models: data.models.map(({ id, tenant_id, model_name, model_version, provider }) => {
      return { id, tenant: tenant_id, model_name, model_version, provider }
    }),
    agents: data.agents.map((agent) => agentOf(agent, groups.get(agent.id) ?? [])),
  }
}

/** Writes a seed as JSON with a line for each entry, so that two exports can be compared line by line. */
export function seedText(seed: Seed): string {
  const members = Object.entries(seed).filter(([, value]) => value !== undefined)
  const lines = members.map(([name, value]) => `  ${JSON.stringify(name)}: ${valueText(value)}`)
  return `{\n${lines.join(',\n')}\n}\n`
}

function valueText(value: unknown): string {
  if (!Array.isArray(value) || value.length === 0) return JSON.stringify(value)
  return `[\n${value.map((item) => `    ${JSON.stringify(item)}`).join(',\n')}\n  ]`
}

function activityOf(flag: 0 | 1): 'active' | 'inactive' {
  return flag === 1 ? 'active' : 'inactive'
}

function personOf(row: SeedRows['people'][number]): SeedPerson {
  return {
    id: row.id,
    tenant: row.tenant_id,
    email: row.email,
    name: row.name,
    passwordHash: row.password_hash,
    permissions: JSON.parse(row.permissions),
    activity: activityOf(row.active),
  }
}

function clientsOf({ clients, redirectUris, approvals, secrets }: SeedRows): SeedClient[] {
  const uris = grouped(redirectUris, ({ client_id }) => client_id)
  const hashes = grouped(secrets, ({ client_id }) => client_id)
  return clients.map(({ id, tenant_id, name, kind, active }) => {
    const approval = approvals.find(({ client_id, tenant_id: tenant }) => client_id === id && tenant === tenant_id)
    const own = (hashes.get(id) ?? []).map((secret) => {
      return { id: secret.id, hash: secret.secret_hash, created_at: new Date(secret.created_ms).toISOString() }
    })
    return {
      clientId: id,
      tenant: tenant_id,
      name,
      kind,
      redirectUris: (uris.get(id) ?? []).map(({ redirect_uri }) => redirect_uri),
      ...(own.length === 0 ? {} : { secrets: own }),
      activity: activityOf(active),
      approval: approval?.active === 1 ? 'approved' : 'unapproved',
      surfaces: JSON.parse(approval?.surfaces ?? '[]'),
    }
  })
}

function agentOf(row: SeedRows['agents'][number], groups: SeedRows['contextGroups']): SeedAgent {
  return {
    id: row.id,
    tenant: row.tenant_id,
    agent_name: row.name_as_sent ?? row.agent_name,
    description: row.description,
    // Beside its type, a key that came alone would not be kept as it is.
    parent_agent_type: keyOf(row.parent_agent_type) === row.parent_agent_type_key ? row.parent_agent_type : undefined,
    parent_agent_type_key: row.parent_agent_type_key,
    display_name: row.display_name,
    full_display_name: row.full_display_name,
    active: row.active === 1,
    configs: JSON.parse(row.configs),
    llm_model: row.llm_model,
    state_function: JSON.parse(row.state_function),
    created_at: new Date(row.created_ms).toISOString(),
    context_variables: groups.map(groupOf),
  }
}

function groupOf(row: SeedRows['contextGroups'][number]): SeedContextGroup {
  const { key, tool_key, tool_name, display_name, tool_id, source_type } = row
  return {
    ...{ key, tool_key, tool_name, display_name, tool_id, source_type },
    variables: JSON.parse(row.variables),
    output_schema: row.output_schema === null ? null : JSON.parse(row.output_schema),
  }
}

function grouped<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group === undefined) groups.set(keyOf(item), [item])
    else group.push(item)
  }
  return groups
}
