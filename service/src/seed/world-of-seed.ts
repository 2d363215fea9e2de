import { createHash } from 'node:crypto'
import { permissionNames } from '../access-change.ts'
import { defaultConfigs, defaultContextGroups } from '../api/agent-defaults.ts'
import { agentTypeOf } from '../api/agents.ts'
import { randomSecret } from '../credentials/tokens.ts'
import type { NewContextGroup, NewParentAgent } from '../store/tenant.ts'
import type { Seed, SeedAgent, SeedClient, SeedContextGroup, SeedPerson } from './seed-schema.ts'
import {
  clientIdOf,
  defaultMs,
  modelsOf,
  type NumberedModel,
  numbered,
  personIdOf,
  tenantOf,
  type World,
  type WorldClient,
  type WorldPerson,
} from './world.ts'

/** Returns what a checked seed means. Only passwords and secrets that it leaves out are random. */
export function worldOf(seed: Seed): World {
  const models = modelsOf(seed)
  const agents = numbered(seed.agents ?? [])
  return {
    tenants: seed.tenants.map(({ id, name = id, activity = 'active', billing = 'active' }) => ({
      id,
      name,
      activity,
      billing,
    })),
    people: (seed.people ?? []).map((person) => personOf(seed, person)),
    clients: (seed.clients ?? []).map((client) => clientOf(seed, client)),
    models: models.map(({ id, tenant, model_name, model_version, provider }) => {
      return { id, tenant, model: { model_name, model_version, provider } }
    }),
    agents: agents.map((agent) => {
      const tenant = tenantOf(seed, agent)
      const own = models.filter((model) => model.tenant === tenant)
      return { id: agent.id, tenant, agent: agentOf(agent, own), groups: groupsOf(agent) }
    }),
    endpointBilling: seed.endpointBilling,
    hashKey: seed.hashKey,
    digest: digestOf(seed),
  }
}

/** Tells seeds apart. Comments, the order of members and the format of the file do not count, because the schema orders members. */
function digestOf({ $schema: _, ...seed }: Seed): string {
  return createHash('sha256').update(JSON.stringify(seed)).digest('base64url')
}

function personOf(seed: Seed, person: SeedPerson): WorldPerson {
  const { email, name = email, permissions = permissionNames, activity = 'active', passwordHash } = person
  return {
    id: personIdOf(seed, person),
    name,
    email: email.toLowerCase(),
    password: person.password ?? (passwordHash === undefined ? randomSecret() : undefined),
    passwordHash,
    tenant: tenantOf(seed, person),
    permissions: [...permissions],
    activity,
  }
}

function clientOf(seed: Seed, client: SeedClient): WorldClient {
  const { name, kind = 'public', redirectUris, secrets = [], surfaces = ['api'] } = client
  const needsSecret = kind === 'confidential' && secrets.length === 0
  return {
    clientId: clientIdOf(seed, client),
    name,
    kind,
    clientSecret: needsSecret ? (client.clientSecret ?? randomSecret()) : undefined,
    secrets: secrets.map(({ id, hash, created_at }) => ({ id, hash, createdMs: Date.parse(created_at) })),
    tenant: tenantOf(seed, client),
    redirectUris,
    activity: client.activity ?? 'active',
    approval: client.approval ?? 'approved',
    surfaces,
  }
}

function agentOf(agent: SeedAgent, models: readonly NumberedModel[]): NewParentAgent {
  const { agent_name: name, configs = {} } = agent
  const { type, typeKey } = agentTypeOf(agent)
  const named = models.find(({ id, model_name }) => id === agent.llm_model || model_name === agent.llm_model_name)
  const defaults = defaultConfigs
  const expiration = { ...defaults.memory_expiration, ...configs.memory_expiration }
  return {
    parent_agent_type: type,
    parent_agent_type_key: typeKey,
    agent_name: name,
    full_display_name: agent.full_display_name ?? `${name} (${type})`,
    display_name: agent.display_name ?? name,
    description: agent.description,
    configs: JSON.stringify({ ...defaults, ...configs, memory_expiration: expiration }),
    llm_model: (named ?? models[0])?.id ?? 0,
    active: agent.active === false ? 0 : 1,
    state_function: JSON.stringify(agent.state_function ?? []),
    created_ms: agent.created_at === undefined ? defaultMs : Date.parse(agent.created_at),
  }
}

function groupsOf({ context_variables: groups }: SeedAgent): NewContextGroup[] {
  return groups === undefined ? [...defaultContextGroups] : groups.map(groupOf)
}

function groupOf({ variables = [], output_schema: schema = null, ...group }: SeedContextGroup): NewContextGroup {
  const complete = variables.map(({ path = '', type = 'any', description = '', full_var, insert_value }) => {
    return { path, type, description, full_var, insert_value }
  })
  return {
    ...group,
    variables: JSON.stringify(complete),
    output_schema: schema === null ? null : JSON.stringify(schema),
  }
}
