import { clientAdminPermission, permissionNames } from '../access-change.ts'
import { defaultConfigs, defaultContextGroups } from '../api/agent-defaults.ts'
import { randomId, randomSecret } from '../credentials/tokens.ts'
import { demoModels, type World, type WorldClient, type WorldPerson } from '../seed/world.ts'
import { keyOf, type NewContextGroup, type NewParentAgent } from '../store/tenant.ts'

const agents: [name: string, type: string, description: string, activity: 'on' | 'off'][] = [
  ['Invoice Reader', 'Document Agent', 'Reads invoices and lists amounts, dates and suppliers.', 'on'],
  ['Contract Checker', 'Document Agent', 'Compares contracts with the house rules and marks differences.', 'on'],
  ['Support Desk', 'Conversation Agent', 'Answers customers and hands hard questions to people.', 'on'],
  ['Order Status', 'Conversation Agent', 'Tells customers where their order is.', 'on'],
  ['Meeting Notes', 'Conversation Agent', 'Turns a meeting into decisions and tasks.', 'off'],
  ['Lead Research', 'Research Agent', 'Collects what is known about a company before a call.', 'on'],
  ['Market Watch', 'Research Agent', 'Follows prices and news of a market each morning.', 'on'],
  ['Patent Search', 'Research Agent', 'Finds patents close to an idea.', 'off'],
  ['Nightly Report', 'Workflow Agent', 'Gathers the figures of the day and writes the report.', 'on'],
  ['Access Review', 'Workflow Agent', 'Asks owners whether accounts are still needed.', 'on'],
  ['100% Coverage', 'Workflow Agent', 'Looks for parts of a text that nobody reviewed.', 'on'],
  ['Legacy_Import', 'Workflow Agent', 'Moves records from the old system.', 'off'],
]

const dayMs = 24 * 60 * 60_000

/** Returns the agents of a demo tenant, a day apart, with its models by turns. */
export function demoAgents(modelIds: readonly number[], nowMs: number): NewParentAgent[] {
  return agents.map((agent, index) => {
    const llmModel = modelIds[index % modelIds.length] ?? 0
    return demoAgent(agent, { llmModel, createdMs: nowMs - (agents.length - index) * dayMs })
  })
}

/** Returns the context variables of a demo agent. */
export function demoGroups(): NewContextGroup[] {
  return [...defaultContextGroups, customerTool()]
}

function demoAgent(
  [name, type, description, activity]: (typeof agents)[number],
  { llmModel, createdMs }: { llmModel: number; createdMs: number },
): NewParentAgent {
  return {
    parent_agent_type: type,
    parent_agent_type_key: keyOf(type),
    agent_name: name,
    full_display_name: `${name} (${type})`,
    display_name: name,
    description,
    configs: JSON.stringify({ ...defaultConfigs, last_agent_in_group: 'summary' }),
    llm_model: llmModel,
    active: activity === 'on' ? 1 : 0,
    state_function: JSON.stringify([{ name: 'language', expression: "{{ runtime_input.language or 'en' }}" }]),
    created_ms: createdMs,
  }
}

function customerTool(): NewContextGroup {
  const variable = (path: string, type: string, description: string) => ({
    path,
    type,
    description,
    full_var: `{{ customer_lookup.${path} }}`,
    insert_value: `customer_lookup.${path}`,
  })
  return {
    key: 'customer_lookup',
    tool_key: 'customer_lookup',
    tool_name: 'Customer lookup',
    display_name: 'Customer lookup',
    tool_id: 'tool-17',
    source_type: 'tool',
    variables: JSON.stringify([
      variable('customer.id', 'integer', 'Number of the customer'),
      variable('customer.name', 'string', 'Name of the customer'),
    ]),
    output_schema: JSON.stringify({ type: 'object', properties: { customer: { type: 'object' } } }),
  }
}

const defaultRedirectUris = {
  public: ['http://127.0.0.1/callback', 'http://[::1]/callback', 'http://127.0.0.1:5173/callback'],
  confidential: ['http://127.0.0.1:3000/auth/callback'],
} as const

const everywhere = 'https://app.demo.example/callback'

/** Makes the tenants, users and clients of a new database. Passwords, ids and secrets are random. */
export function makeDemoWorld(redirectUris: readonly string[], nowMs: number): World {
  const person = (name: string, email: string, tenant: string, permissions: readonly string[]): WorldPerson => {
    const id = randomId('person')
    const secrets = { password: randomSecret(), passwordHash: undefined }
    return { id, name, email, ...secrets, tenant, permissions: [...permissions], activity: 'active' }
  }
  const client = (name: string, kind: WorldClient['kind'], tenant: string): WorldClient => {
    const uris = new Set([...defaultRedirectUris[kind], everywhere, ...redirectUris])
    const clientSecret = kind === 'confidential' ? randomSecret() : undefined
    const state = { activity: 'active', approval: 'approved', surfaces: ['api'] } as const
    const own = { clientId: randomId('app'), name, kind, clientSecret, secrets: [], tenant }
    return { ...own, redirectUris: [...uris], ...state, surfaces: [...state.surfaces] }
  }
  const tenants = ['demo', 'other'].map((id) => tenantOf(id))
  const all = [...permissionNames, clientAdminPermission]
  const plain = permissionNames
  const readOnly = plain.filter((permission) => permission !== 'parent_agents.create')
  return {
    tenants,
    ...agentsOf(tenants, nowMs),
    endpointBilling: undefined,
    hashKey: undefined,
    digest: undefined,
    people: [
      person('Ada Admin', 'ada@demo.example', 'demo', all),
      person('Rui Reader', 'rui@demo.example', 'demo', readOnly),
      person(
        'Gil Guest',
        'gil@demo.example',
        'demo',
        plain.filter((permission) => permission !== 'api.access'),
      ),
      person('Ola Admin', 'ola@other.example', 'other', all),
    ],
    clients: [
      client('Demo public', 'public', 'demo'),
      client('Demo confidential', 'confidential', 'demo'),
      client('Other public', 'public', 'other'),
      client('Other confidential', 'confidential', 'other'),
    ],
  }
}

function tenantOf(id: string): World['tenants'][number] {
  return { id, name: id.replace(/^./, (letter) => letter.toUpperCase()), activity: 'active', billing: 'active' }
}

/** Gives each tenant the same models and agents, with ids from 1 on over all tenants. */
function agentsOf(tenants: World['tenants'], nowMs: number): Pick<World, 'models' | 'agents'> {
  const models = tenants.flatMap(({ id: tenant }, part) =>
    demoModels.map((model, index) => ({ tenant, id: part * demoModels.length + index + 1, model })),
  )
  const agents = tenants.flatMap(({ id: tenant }) => {
    const own = models.filter((model) => model.tenant === tenant).map(({ id }) => id)
    return demoAgents(own, nowMs).map((agent) => ({ tenant, agent, groups: demoGroups() }))
  })
  return { models, agents: agents.map((agent, index) => ({ ...agent, id: index + 1 })) }
}
