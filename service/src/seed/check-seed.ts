import { isTwoTypes } from '../api/agents.ts'
import { readClientForm } from '../clients/registry.ts'
import { pathText } from '../issue-text.ts'
import { limits, requestLimits } from '../limits.ts'
import { keyOf } from '../store/tenant.ts'
import type { Seed, SeedAgent, SeedClient, SeedPerson } from './seed-schema.ts'
import { clientIdOf, modelsOf, type NumberedModel, personIdOf, SeedError, tenantOf } from './world.ts'

/** Throws a SeedError for what a schema cannot find: what is there twice, what names nothing, and members that exclude each other. */
export function checkSeed(seed: Seed): void {
  const { tenants, people = [], clients = [], models = [], agents = [] } = seed
  refuseRepeated('tenants', tenants, 'id', ({ id }) => id)
  checkTenants(seed)
  refuseRepeated('people', people, 'email', ({ email }) => email.toLowerCase())
  refuseRepeated('people', people, 'id', (person) => personIdOf(seed, person))
  for (const [index, person] of people.entries()) checkPerson(['people', index], person, seed)
  refuseRepeated('clients', clients, 'clientId', (client) => clientIdOf(seed, client))
  refuseRepeatedSecrets(clients)
  for (const [index, client] of clients.entries()) checkClient(['clients', index], client, seed)
  refuseMore('clients', seed, requestLimits.clientsPerTenant)
  refuseRepeated('models', models, 'id', ({ id }) => id)
  refuseRepeated('agents', agents, 'id', ({ id }) => id)
  refuseRepeated('agents', agents, 'agent_name', (agent) => `${tenantOf(seed, agent)} ${keyOf(agent.agent_name)}`)
  const known = modelsOf(seed)
  for (const [index, agent] of agents.entries()) {
    const own = known.filter(({ tenant }) => tenant === tenantOf(seed, agent))
    checkAgent(['agents', index], agent, own)
  }
  refuseMore('agents', seed, limits.agentsPerTenant)
}

type Path = readonly PropertyKey[]

function refuse(path: Path, problem: string): never {
  throw new SeedError(`${pathText(path)}: ${problem}`)
}

function refuseRepeated<Item>(
  list: string,
  items: readonly Item[],
  member: string,
  keyOfItem: (item: Item) => string | number | undefined,
): void {
  const seen = new Map<string | number, number>()
  for (const [index, item] of items.entries()) {
    const key = keyOfItem(item)
    if (key === undefined) continue
    const before = seen.get(key)
    if (before !== undefined) refuse([list, index, member], `the same ${member} as ${list}[${before}]`)
    seen.set(key, index)
  }
}

function refuseRepeatedSecrets(clients: readonly SeedClient[]): void {
  const seen = new Set<string>()
  for (const [index, { secrets = [] }] of clients.entries())
    for (const [at, { id }] of secrets.entries()) {
      if (seen.has(id)) refuse(['clients', index, 'secrets', at, 'id'], 'another secret has this id')
      seen.add(id)
    }
}

function checkTenants(seed: Seed): void {
  const ids = seed.tenants.map(({ id }) => id)
  for (const list of ['people', 'clients', 'models', 'agents'] as const)
    for (const [index, { tenant }] of (seed[list] ?? []).entries()) {
      if (tenant === undefined && ids.length > 1) refuse([list, index], 'needs a tenant, because there are several')
      if (tenant !== undefined && !ids.includes(tenant)) refuse([list, index, 'tenant'], 'there is no such tenant')
    }
}

function refuseMore(list: 'clients' | 'agents', seed: Seed, most: number): void {
  const counts = new Map<string, number>()
  for (const [index, entry] of (seed[list] ?? []).entries()) {
    const tenant = tenantOf(seed, entry)
    const count = (counts.get(tenant) ?? 0) + 1
    if (count > most) refuse([list, index], `a tenant has at most ${most} ${list}`)
    counts.set(tenant, count)
  }
}

function checkPerson(path: Path, { password, passwordHash }: SeedPerson, { hashKey }: Seed): void {
  const at = [...path, 'passwordHash']
  if (password !== undefined && passwordHash !== undefined) refuse(at, 'give password or passwordHash, not both')
  if (passwordHash?.startsWith('hmac-') && hashKey === undefined) refuse(at, 'needs the hashKey of its export')
}

function checkClient(path: Path, client: SeedClient, { hashKey }: Seed): void {
  const { name, kind = 'public', redirectUris, clientSecret, secrets } = client
  const form = readClientForm({ name, kind, redirectUris })
  if (form.kind === 'refused') refuse([...path, ...form.path], form.problem)
  if (kind === 'public' && (clientSecret ?? secrets) !== undefined)
    refuse([...path, 'kind'], 'a public client has no secret; its kind would be confidential')
  if (secrets === undefined) return
  if (clientSecret !== undefined) refuse([...path, 'secrets'], 'give clientSecret or secrets, not both')
  if (hashKey === undefined) refuse([...path, 'secrets'], 'needs the hashKey of its export')
}

function checkAgent(path: Path, agent: SeedAgent, models: readonly NumberedModel[]): void {
  const { parent_agent_type: type, parent_agent_type_key: key, llm_model: id, llm_model_name: name } = agent
  if (type === undefined && key === undefined) refuse(path, 'needs parent_agent_type or parent_agent_type_key')
  if (isTwoTypes(agent)) refuse([...path, 'parent_agent_type_key'], 'is not the key of parent_agent_type')
  const at = [...path, 'llm_model_name']
  if (id !== undefined && name !== undefined) refuse(at, 'give llm_model or llm_model_name, not both')
  if (id !== undefined && !models.some((model) => model.id === id))
    refuse([...path, 'llm_model'], 'the tenant has no model with this id')
  const named = models.filter(({ model_name }) => model_name === name).length
  if (name !== undefined && named === 0) refuse(at, 'the tenant has no model of this name')
  if (named > 1) refuse(at, 'several models have this name; give llm_model')
}
