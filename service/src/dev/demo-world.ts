import { randomId, randomSecret } from '../credentials/secrets.ts'
import { clientAdminPermission, permissionNames } from '../permission-names.ts'

/** The tenants, users and clients of a new database. Passwords, ids and secrets are random (S-084). */
export interface DemoWorld {
  tenants: { id: string; name: string }[]
  people: DemoPerson[]
  clients: DemoClient[]
}

export interface DemoPerson {
  id: string
  name: string
  email: string
  password: string
  tenant: string
  permissions: string[]
}

export interface DemoClient {
  clientId: string
  name: string
  kind: 'public' | 'confidential'
  clientSecret: string | undefined
  tenant: string
  redirectUris: string[]
}

const defaultRedirectUris = {
  public: [
    'http://127.0.0.1/callback',
    'http://[::1]/callback',
    'http://127.0.0.1:5173/callback',
    // The page /docs of the API, on any port.
    'http://127.0.0.1/docs/oauth2-redirect.html',
  ],
  confidential: ['http://127.0.0.1:3000/auth/callback'],
} as const

const everywhere = 'https://app.demo.example/callback'

export function makeDemoWorld(redirectUris: readonly string[]): DemoWorld {
  const person = (name: string, email: string, tenant: string, permissions: readonly string[]): DemoPerson => {
    return { id: randomId('person'), name, email, password: randomSecret(), tenant, permissions: [...permissions] }
  }
  const client = (name: string, kind: DemoClient['kind'], tenant: string): DemoClient => {
    const uris = new Set([...defaultRedirectUris[kind], everywhere, ...redirectUris])
    const clientSecret = kind === 'confidential' ? randomSecret() : undefined
    return { clientId: randomId('app'), name, kind, clientSecret, tenant, redirectUris: [...uris] }
  }
  const all = [...permissionNames, clientAdminPermission]
  const plain = permissionNames
  const readOnly = plain.filter((permission) => permission !== 'parent_agents.create')
  return {
    tenants: [
      { id: 'demo', name: 'Demo' },
      { id: 'other', name: 'Other' },
    ],
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
