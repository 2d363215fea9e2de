import { isTwoTypes, keyOf } from '../api/agents/agent-key.ts'
import { readClientForm } from '../clients/client-form.ts'
import { limits, requestLimits } from '../limits.ts'
import { nearName } from '../near-name.ts'
import type { Seed, SeedAgent, SeedClient, SeedModel, SeedPerson } from '../seed-types.ts'
import type { Path } from './parsed-text.ts'
import { clientIdOf, modelsOf, personIdOf, tenantOf } from './seed-ids.ts'

interface Problem {
  text: string
  path: Path
}

/** Returns the first mistake that a schema cannot find: what is there twice, what names nothing, and members that exclude each other. */
export function checkSeed(seed: Seed): Problem | undefined {
  const { tenants, people = [], clients = [], models = [], agents = [] } = seed
  return (
    repeated('tenants', tenants, ({ id }) => id, 'id') ??
    first(['people', 'clients', 'models', 'agents'] as const, (list) => checkTenants(seed, list)) ??
    repeated('people', people, ({ email }) => email.toLowerCase(), 'email') ??
    repeated('people', people, (person) => personIdOf(seed, person), 'id') ??
    first(people, (person, index) => at(['people', index], checkPerson(person, seed))) ??
    repeated('clients', clients, (client) => clientIdOf(seed, client), 'clientId') ??
    repeatedSecret(clients) ??
    first(clients, (client, index) => at(['clients', index], checkClient(client, seed))) ??
    tooMany(
      'clients',
      clients.map((client) => tenantOf(seed, client)),
      requestLimits.clientsPerTenant,
    ) ??
    repeated('models', models, ({ id }) => id, 'id') ??
    repeated('agents', agents, ({ id }) => id, 'id') ??
    repeated('agents', agents, (agent) => `${tenantOf(seed, agent)} ${keyOf(agent.agent_name)}`, 'agent_name') ??
    checkAgents(seed) ??
    tooMany(
      'agents',
      agents.map((agent) => tenantOf(seed, agent)),
      limits.agentsPerTenant,
    )
  )
}

function first<Item>(
  items: readonly Item[],
  check: (item: Item, index: number) => Problem | undefined,
): Problem | undefined {
  for (const [index, item] of items.entries()) {
    const problem = check(item, index)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** A mistake in an entry: the member, or the path in the entry, and the text. */
type EntryProblem = [where: string | Path, text: string]

function at(path: Path, problem: EntryProblem | undefined): Problem | undefined {
  return (
    problem && { path: [...path, ...(typeof problem[0] === 'string' ? [problem[0]] : problem[0])], text: problem[1] }
  )
}

function repeated<Item>(
  list: string,
  items: readonly Item[],
  keyOfItem: (item: Item) => string | number | undefined,
  member: string,
): Problem | undefined {
  const seen = new Map<string | number, number>()
  return first(items, (item, index) => {
    const key = keyOfItem(item)
    const before = key === undefined ? undefined : seen.get(key)
    if (key !== undefined) seen.set(key, before ?? index)
    return before === undefined
      ? undefined
      : { path: [list, index, member], text: `the same ${member} as ${list}[${before}]` }
  })
}

function checkTenants(seed: Seed, list: 'people' | 'clients' | 'models' | 'agents'): Problem | undefined {
  const ids = new Set(seed.tenants.map(({ id }) => id))
  return first<{ tenant?: string | undefined }>(seed[list] ?? [], ({ tenant }, index) => {
    if (tenant === undefined)
      return ids.size === 1 ? undefined : { path: [list, index], text: 'needs a tenant, because there are several' }
    if (ids.has(tenant)) return undefined
    const text = `there is no such tenant${suggestion(tenant, [...ids])}`
    return { path: [list, index, 'tenant'], text }
  })
}

function suggestion(name: string, known: readonly string[]): string {
  const meant = nearName(name, known)
  return meant === undefined ? '' : `; did you mean ${meant}?`
}

function tooMany(list: string, tenants: readonly string[], most: number): Problem | undefined {
  const counts = new Map<string, number>()
  return first(tenants, (tenant, index) => {
    const count = (counts.get(tenant) ?? 0) + 1
    counts.set(tenant, count)
    return count > most ? { path: [list, index], text: `a tenant has at most ${most} ${list}` } : undefined
  })
}

function checkPerson({ password, passwordHash }: SeedPerson, { hashKey }: Seed): EntryProblem | undefined {
  if (password !== undefined && passwordHash !== undefined)
    return ['passwordHash', 'give password or passwordHash, not both']
  return passwordHash?.startsWith('hmac-') && hashKey === undefined
    ? ['passwordHash', 'needs the hashKey of its export']
    : undefined
}

function checkClient(
  { name, kind = 'public', redirectUris, clientSecret, secrets }: SeedClient,
  { hashKey }: Seed,
): EntryProblem | undefined {
  const form = readClientForm({ name, kind, redirectUris })
  if (form.kind === 'refused') return [form.path, form.problem]
  if (clientSecret === undefined && secrets === undefined) return undefined
  const member = clientSecret === undefined ? 'secrets' : 'clientSecret'
  if (kind === 'public') return [member, 'a public client has no secret; its kind would be confidential']
  if (clientSecret !== undefined && secrets !== undefined) return ['secrets', 'give clientSecret or secrets, not both']
  return secrets !== undefined && hashKey === undefined ? ['secrets', 'needs the hashKey of its export'] : undefined
}

function repeatedSecret(clients: readonly SeedClient[]): Problem | undefined {
  const seen = new Set<string>()
  return first(clients, ({ secrets = [] }, index) =>
    first(secrets, ({ id }, at) => {
      const isRepeated = seen.has(id)
      seen.add(id)
      return isRepeated
        ? { path: ['clients', index, 'secrets', at, 'id'], text: 'another secret has this id' }
        : undefined
    }),
  )
}

function checkAgents(seed: Seed): Problem | undefined {
  const models = modelsOf(seed)
  return first(seed.agents ?? [], (agent, index) => {
    const own = models.filter(({ tenant }) => tenant === tenantOf(seed, agent))
    return at(['agents', index], checkAgent(agent, own))
  })
}

function checkAgent(agent: SeedAgent, models: readonly SeedModel[]): EntryProblem | undefined {
  const { parent_agent_type: type, parent_agent_type_key: key, llm_model: id, llm_model_name: name } = agent
  if (type === undefined && key === undefined) return [[], 'needs parent_agent_type or parent_agent_type_key']
  if (isTwoTypes(agent)) return ['parent_agent_type_key', 'is not the key of parent_agent_type']
  if (id !== undefined && name !== undefined) return ['llm_model_name', 'give llm_model or llm_model_name, not both']
  if (id !== undefined && !models.some((model) => model.id === id))
    return ['llm_model', 'the tenant has no model with this id']
  const names = models.map(({ model_name }) => model_name)
  const named = names.filter((one) => one === name).length
  if (name === undefined || named === 1) return undefined
  return [
    'llm_model_name',
    named === 0
      ? `the tenant has no model of this name${suggestion(name, names)}`
      : 'several models have this name; give llm_model',
  ]
}
