import type { Context } from 'hono'
import { keyedHash, sameText } from '../credentials/secrets.ts'
import { clientAddressOf, nearestAddressOf } from '../http/client-address.ts'
import type { HttpEnvironment } from '../http/environment.ts'
import type { ClientRecord } from '../store/tables/clients.ts'
import { findClient, findSecretHashes } from '../store/tables/clients.ts'
import { parseBasic } from './basic.ts'
import { invalidClient, invalidRequest, OAuthError } from './oauth-error.ts'
import type { TokenFields } from './request.ts'

const secondMs = 1_000
/** One in use and one that replaces it (S-042, A-57). */
const mostSecrets = 2

/** A confidential client proves itself by HTTP Basic; a public one only names itself (spec 5.2, S-043). */
export async function authenticateClient(c: Context<HttpEnvironment>, fields: TokenFields): Promise<ClientRecord> {
  const header = c.req.header('authorization')
  if (header === undefined) return namePublicClient(c, fields)
  const credentials = parseBasic(header)
  if (credentials === undefined) throw refuse(c, undefined)
  if (fields('client_secret') !== undefined) throw invalidRequest('credentials are sent twice')
  if ((fields('client_id') ?? credentials.clientId) !== credentials.clientId) {
    throw invalidRequest('client_id differs from the credentials')
  }
  return checkSecret(c, credentials.clientId, credentials.secret)
}

async function namePublicClient(c: Context<HttpEnvironment>, fields: TokenFields): Promise<ClientRecord> {
  const clientId = fields('client_id')
  const client = clientId === undefined ? undefined : await findClient(c.get('service').store.db, clientId)
  if (client?.kind === 'public' && fields('client_secret') === undefined) return client
  throw refuse(c, client, client === undefined && clientId !== undefined ? unknownId : textFor(client?.kind))
}

/**
 * A right secret passes whatever failed before: it has 256 random bits, so that comparing every guess tells a guesser
 * nothing, and strangers behind the same address cannot keep a client out. Wrong ones are slowed down (S-044).
 */
async function checkSecret(c: Context<HttpEnvironment>, clientId: string, secret: string): Promise<ClientRecord> {
  const { throttles } = c.get('service')
  const own = `${nearestAddressOf(c)} ${clientId}`
  const address = clientAddressOf(c)
  const { client, proof } = await compareSecret(c, clientId, secret)
  if (client !== undefined && proof === 'right') {
    throttles.client.settle(own, 'success')
    return client
  }
  const addressWaitMs = address === undefined ? 0 : throttles.clientAddress.waitMs(address)
  const waitMs = Math.max(addressWaitMs, throttles.client.waitMs(own))
  if (waitMs > 0) throw tooMany(waitMs)
  throttles.client.settle(own, 'failure')
  if (address !== undefined) throttles.clientAddress.settle(address, 'failure')
  throw refuse(c, client, client?.kind === 'public' ? publicId : undefined)
}

/** The same queries and comparisons whether the client exists or not (S-044). */
async function compareSecret(
  c: Context<HttpEnvironment>,
  clientId: string,
  secret: string,
): Promise<{ client: ClientRecord | undefined; proof: 'right' | 'wrong' }> {
  const { store, keys, clock } = c.get('service')
  const client = await findClient(store.db, clientId)
  const stored = await findSecretHashes(store.db, clientId, clock.nowMs())
  const presented = keyedHash(keys.hashKey, secret)
  const compared = Array.from({ length: mostSecrets }, (_, index) => stored[index] ?? 'no secret')
  const matches = compared.filter((hash) => sameText(hash, presented))
  return { client, proof: client?.kind === 'confidential' && matches.length > 0 ? 'right' : 'wrong' }
}

const publicId = 'this client id is public: send no secret, or use the id of a confidential client in a backend'
const confidentialId =
  'this client id is confidential: a backend sends its secret by HTTP Basic, a page or app uses the id of a public client'
const unknownId = 'no client has this client_id; a service that keeps no data makes new ids at each start'

/** A mix-up of ids is named, because ids are no secret; what was wrong of a secret is not. */
function textFor(kind: ClientRecord['kind'] | undefined): string | undefined {
  return kind === undefined ? undefined : { public: publicId, confidential: confidentialId }[kind]
}

/** Each failure is recorded once, with the client it was about if there is such a one (S-087). */
function refuse(c: Context<HttpEnvironment>, client: ClientRecord | undefined, description?: string): OAuthError {
  const about = client === undefined ? {} : { clientId: client.id, tenant: client.tenantId }
  c.get('service').journal.event('client_authentication_failed', about)
  return invalidClient(description)
}

function tooMany(retryAfterMs: number): OAuthError {
  return new OAuthError({
    error: 'temporarily_unavailable',
    description: 'too many failed attempts',
    status: 429,
    headers: { 'Retry-After': String(Math.ceil(retryAfterMs / secondMs)) },
  })
}
