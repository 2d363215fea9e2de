import type { Context } from 'hono'
import { keyedHash, sameText } from '../credentials/secrets.ts'
import { clientAddressOf, nearestAddressOf } from '../http/client-address.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { requestLimits } from '../limits.ts'
import type { ClientRecord } from '../store/tables/clients.ts'
import { findClient, findSecretHashes } from '../store/tables/clients.ts'
import { parseBasic } from './basic.ts'
import { invalidClient, invalidRequest, OAuthError } from './oauth-error.ts'
import type { TokenFields } from './token-request.ts'

const secondMs = 1_000

const publicIdText = 'this client id is public: send no secret, or use the id of a confidential client in a backend'
const confidentialIdText =
  'this client id is confidential: a backend sends its secret by HTTP Basic, a page or app uses the id of a public client'
const unknownIdText =
  'this service does not know the client_id: was it restarted without --data, or with other data? copy its new ids'
const wrongSecretText =
  'wrong secret of this client: copy it again, or make another on the page /auth/v1/clients; form-encode both parts of Basic (RFC 6749 section 2.3.1)'

/** Authenticates a confidential client by HTTP Basic. A public client only sends its client_id (spec 5.2, S-043). */
export async function authenticateClient(c: Context<HttpEnvironment>, fields: TokenFields): Promise<ClientRecord> {
  const header = c.req.header('authorization')
  if (header === undefined) return identifyPublicClient(c, fields)
  const credentials = parseBasic(header)
  if (credentials === undefined) throw authenticationFailed(c, undefined)
  if (fields('client_secret') !== undefined) throw invalidRequest('credentials are sent twice; use Authorization only')
  if ((fields('client_id') ?? credentials.clientId) !== credentials.clientId) {
    throw invalidRequest('client_id and the credentials must name the same client')
  }
  return authenticateBySecret(c, credentials.clientId, credentials.secret)
}

/** Finds a public client by its id. If the id is sent, the error names a mix-up of client ids, because ids are not secret. */
async function identifyPublicClient(c: Context<HttpEnvironment>, fields: TokenFields): Promise<ClientRecord> {
  const clientId = fields('client_id')
  if (clientId === undefined) throw authenticationFailed(c, undefined)
  const client = await findClient(c.get('service').store.db, clientId)
  if (client === undefined) throw authenticationFailed(c, undefined, unknownIdText)
  if (client.kind === 'confidential') throw authenticationFailed(c, client, confidentialIdText)
  if (fields('client_secret') !== undefined) throw authenticationFailed(c, client, publicIdText)
  return client
}

/**
 * Compares a presented secret without a delay, also during a wait. After some free failures (`freeFailures` in
 * credentials/throttle-policies.ts), each wrong secret starts a wait of its client key, and of its address if that is known. Until it
 * ends, a wrong secret gets 429 in place of 401, and counts as no failure (S-044). A correct secret is always accepted, so that other
 * senders at the same address cannot lock this client out. A secret that the service made has 256 random bits, so that unlimited guesses
 * do not find it. A secret in the data that fill a new database (a seed) has at least `leastSecretCharacters`, 32 (seed/seed-schema.ts).
 */
async function authenticateBySecret(
  c: Context<HttpEnvironment>,
  clientId: string,
  secret: string,
): Promise<ClientRecord> {
  const { throttles } = c.get('service')
  const clientKey = `${nearestAddressOf(c)} ${clientId}`
  // Undefined if the address of the client is not known: without `trustedProxies`, or if the request did not pass all of these proxies. All
  // requests may then come from one proxy, and a throttle on its address would give 429 to the wrong secrets of all clients. So only
  // `clientKey` is throttled then, which has the address of the connection.
  const address = clientAddressOf(c)
  const { client, proof } = await compareSecret(c, clientId, secret)
  if (client !== undefined && proof === 'right') {
    throttles.client.settle(clientKey, 'success')
    return client
  }
  const addressWaitMs = address === undefined ? 0 : throttles.clientAddress.waitMs(address)
  const waitMs = Math.max(addressWaitMs, throttles.client.waitMs(clientKey))
  if (waitMs > 0) throw tooManyFailures(waitMs)
  throttles.client.settle(clientKey, 'failure')
  if (address !== undefined) throttles.clientAddress.settle(address, 'failure')
  throw authenticationFailed(c, client, client?.kind === 'public' ? publicIdText : refusedSecretText(c, client))
}

/**
 * Returns undefined if the dev controls are off, so that an unknown id and a wrong secret get the same default text of `invalidClient`
 * (S-044). Otherwise it returns a text that tells the two apart.
 */
function refusedSecretText(c: Context<HttpEnvironment>, client: ClientRecord | undefined): string | undefined {
  if (c.get('service').config.dev === 'off') return undefined
  return client === undefined ? unknownIdText : wrongSecretText
}

/**
 * Runs the same queries and comparisons whether the client exists or not, so that the time of a refusal tells no more than its text
 * (S-044). A request without a secret does learn whether an id exists (`identifyPublicClient`), because ids are not secret.
 */
async function compareSecret(
  c: Context<HttpEnvironment>,
  clientId: string,
  secret: string,
): Promise<{ client: ClientRecord | undefined; proof: 'right' | 'wrong' }> {
  const { store, keys, clock } = c.get('service')
  const client = await findClient(store.db, clientId)
  const stored = await findSecretHashes(store.db, clientId, clock.nowMs())
  const presented = keyedHash(keys.hashKey, secret)
  const compared = Array.from({ length: requestLimits.clientSecrets }, (_, index) => stored[index] ?? 'no secret')
  const matches = compared.filter((hash) => sameText(hash, presented))
  return { client, proof: client?.kind === 'confidential' && matches.length > 0 ? 'right' : 'wrong' }
}

/** Writes the failure to the journal, with the client if there is one (S-087), and returns the error. */
function authenticationFailed(
  c: Context<HttpEnvironment>,
  client: ClientRecord | undefined,
  description?: string,
): OAuthError {
  const about = client === undefined ? {} : { clientId: client.id, tenant: client.tenantId }
  c.get('service').journal.event('client_authentication_failed', about)
  return invalidClient(description)
}

function tooManyFailures(retryAfterMs: number): OAuthError {
  return new OAuthError({
    error: 'temporarily_unavailable',
    description: 'too many failed attempts; wait as long as Retry-After says',
    status: 429,
    headers: { 'Retry-After': String(Math.ceil(retryAfterMs / secondMs)) },
  })
}
