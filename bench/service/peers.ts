import { fileURLToPath } from 'node:url'

/** What a client has to know of a server, and what a person types there. */
export interface Peer {
  authorizeUrl: string
  tokenUrl: string
  clientId: string
  redirectUri: string
  email: string
  password: string
  /** `service`: grant_type in the query, refresh by JSON, as the specification has it; `standard`: RFC 6749. */
  dialect: 'service' | 'standard'
  /** What makes this server ask for consent although it asked before; ours always asks. */
  askAgain: Record<string, string>
}

export interface Command {
  args: readonly string[]
  /** Where the first 200 comes from: the page or document that a login begins with. */
  firstUrl(said: string): string
  peer(said: string): Peer
}

/** The public client that oidc-provider knows; the mock server takes anybody. */
export const standardClient = { clientId: 'bench-public', redirectUri: 'http://127.0.0.1:8976/callback' } as const

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

/** The servers as they are started at a terminal, ours without the controls that record each login. The first line they print says where they listen. */
export const commands: Record<'agent-service' | 'oauth2-mock-server' | 'oidc-provider', Command> = {
  'agent-service': {
    args: [path('../../service/dist/cli.js'), '--json', '--auth-port', '0', '--base-port', '0'],
    firstUrl: (said) => signInPageUrl(agentServicePeer(JSON.parse(said) as AgentService)),
    peer: (said) => agentServicePeer(JSON.parse(said) as AgentService),
  },
  'oauth2-mock-server': {
    args: [path('../../node_modules/oauth2-mock-server/dist/oauth2-mock-server.mjs'), '-a', '127.0.0.1', '-p', '0'],
    firstUrl: (said) => `${originIn(said)}/.well-known/openid-configuration`,
    peer: (said) => mockServerPeer(originIn(said)),
  },
  'oidc-provider': {
    args: [path('peers/oidc-provider.mjs'), standardClient.clientId, standardClient.redirectUri],
    firstUrl: (said) => `${originIn(said)}/.well-known/openid-configuration`,
    peer: (said) => oidcProviderPeer(originIn(said)),
  },
}

function originIn(said: string): string {
  const origin = /http:\/\/[\w.[\]:]+:\d+/.exec(said)?.[0]
  if (origin === undefined) throw new Error('the server did not say where it listens')
  return origin
}

interface AgentService {
  authUrl: string
  people: { email: string; password: string }[]
  clients: { clientId: string; kind: string; redirectUris: string[] }[]
}

export function agentServicePeer({ authUrl, people, clients }: AgentService): Peer {
  const client = clients.find(({ kind }) => kind === 'public')
  const person = people[0]
  if (client === undefined || person === undefined) throw new Error('the service has no demo people or clients')
  return {
    authorizeUrl: `${authUrl}/auth/v1/authorize`,
    tokenUrl: `${authUrl}/auth/v1/token`,
    clientId: client.clientId,
    redirectUri: client.redirectUris[0] ?? '',
    email: person.email,
    password: person.password,
    dialect: 'service',
    askAgain: {},
  }
}

export function mockServerPeer(origin: string): Peer {
  const urls = { authorizeUrl: `${origin}/authorize`, tokenUrl: `${origin}/token` }
  return { ...urls, ...standardClient, email: '', password: '', dialect: 'standard', askAgain: {} }
}

export function oidcProviderPeer(origin: string): Peer {
  const urls = { authorizeUrl: `${origin}/auth`, tokenUrl: `${origin}/token` }
  const person = { email: 'ada@demo.example', password: 'any will do' }
  return { ...urls, ...standardClient, ...person, dialect: 'standard', askAgain: { prompt: 'consent' } }
}

function signInPageUrl({ authorizeUrl, clientId, redirectUri }: Peer): string {
  const query = new URLSearchParams({
    ...{ response_type: 'code', client_id: clientId, redirect_uri: redirectUri, scope: 'api.access' },
    ...{ code_challenge: 'A'.repeat(43), code_challenge_method: 'S256' },
  })
  return `${authorizeUrl}?${query}`
}
