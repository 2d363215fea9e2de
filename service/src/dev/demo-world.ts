import { randomId, randomSecret } from '../credentials/secrets.ts'
import { clientAdminPermission, permissionNames } from '../permission-names.ts'
import { demoModels } from '../seed/demo-models.ts'
import type { World, WorldClient, WorldPerson } from '../seed/world.ts'
import { demoAgents, demoGroups } from './demo-agents.ts'

const defaultRedirectUris = {
  public: ['http://127.0.0.1/callback', 'http://[::1]/callback', 'http://127.0.0.1:5173/callback'],
  confidential: ['http://127.0.0.1:3000/auth/callback'],
} as const

const everywhere = 'https://app.demo.example/callback'

/** Makes the tenants, users and clients of a new database. Passwords, ids and secrets are random (S-084). */
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
