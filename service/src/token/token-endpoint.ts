import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { ServiceContext } from '../context.ts'
import { type IssuedTokens, keyedHash, sameText } from '../credentials/tokens.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import {
  clientAddressOf,
  type Fields,
  hasMediaType,
  jsonMembers,
  jsonResponse,
  nearestAddressOf,
  parseForm,
  parseQuery,
  readAtMost,
} from '../http/messages.ts'
import { isKnownOrigin, ownOrigins } from '../http/middleware.ts'
import { requestLimits } from '../limits.ts'
import { type ClientRecord, findClient, findSecretHashes } from '../store/clients.ts'
import { invalidClient, invalidRequest, OAuthError } from './oauth-error.ts'
import { redeemCode } from './redeem-code.ts'
import { refresh } from './refresh.ts'

interface BasicCredentials {
  clientId: string
  secret: string
}

const scheme = /^basic +([A-Za-z0-9+/]+={0,2})$/i

/**
 * Parses HTTP Basic strictly: canonical base64, UTF-8, split at the first colon, both parts form-decoded (RFC 6749
 * §2.3.1). Returns undefined for anything else. Two Authorization headers arrive joined by a comma, which is not base64.
 */
export function parseBasic(header: string): BasicCredentials | undefined {
  const encoded = scheme.exec(header)?.[1]
  if (encoded === undefined) return undefined
  const bytes = Buffer.from(encoded, 'base64')
  // Node also decodes text without its padding, or with bits set after the last byte. Only canonical text encodes to itself again.
  if (bytes.toString('base64') !== encoded) return undefined
  const text = bytes.toString('utf8')
  const colon = text.indexOf(':')
  if (colon < 1 || !Buffer.from(text, 'utf8').equals(bytes)) return undefined
  const clientId = formDecode(text.slice(0, colon))
  const secret = formDecode(text.slice(colon + 1))
  return clientId === undefined || secret === undefined ? undefined : { clientId, secret }
}

function formDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

interface TokenRequest {
  grantType: 'authorization_code' | 'refresh_token'
  fields: Fields
}

// A query may hold none of these, because servers and proxies write URLs to their logs.
const bodyOnly = ['code', 'refresh_token', 'client_secret', 'code_verifier', 'client_id', 'redirect_uri', 'scope']
const protocolNames = [...bodyOnly, 'grant_type']

/**
 * Takes grant_type from the query, and refuses a body that names another one. Reads the other fields from a form (code) or a JSON
 * object (refresh token).
 */
async function readTokenRequest(request: Request): Promise<TokenRequest> {
  const grantType = readGrantType(request)
  const mediaType = grantType === 'refresh_token' ? 'application/json' : 'application/x-www-form-urlencoded'
  if (!hasMediaType(request.headers, mediaType)) throw wrongType(mediaType)
  const body = await readAtMost(request, requestLimits.tokenBytes)
  if (body.kind === 'too_large') throw tooLarge()
  if (body.kind === 'not_utf8') throw invalidRequest('the body is not UTF-8')
  const fields = grantType === 'refresh_token' ? jsonFields(body.text) : formFields(body.text)
  if ((fields('grant_type') ?? grantType) !== grantType)
    throw invalidRequest('grant_type in the body and in the query must be equal')
  return { grantType, fields }
}

/** An empty grant_type counts as absent. */
function readGrantType(request: Request): TokenRequest['grantType'] {
  const query = parseQuery(request.url)
  if (!query.isComplete) throw invalidRequest(`the query has more than ${requestLimits.queryParameters} parameters`)
  const misplaced = bodyOnly.find((name) => query.count(name) > 0)
  if (misplaced !== undefined) throw invalidRequest(`${misplaced} must be in the body, not in the query`)
  if (query.count('grant_type') > 1) throw invalidRequest('grant_type is repeated')
  const grantType = query.get('grant_type')?.text
  if (grantType === undefined) throw invalidRequest('grant_type is missing from the query')
  if (grantType === 'authorization_code' || grantType === 'refresh_token') return grantType
  throw new OAuthError({ error: 'unsupported_grant_type', description: 'use authorization_code or refresh_token' })
}

function formFields(text: string): Fields {
  const form = parseForm(text)
  if (form.kind === 'repeated') throw invalidRequest('a form field is repeated; send each one once')
  return form.get
}

function jsonFields(text: string): Fields {
  const members = jsonMembers(text)
  if (members === undefined) throw invalidRequest('the body is not a JSON object')
  const mistyped = protocolNames.find((name) => members.has(name) && typeof members.get(name) !== 'string')
  if (mistyped !== undefined) throw invalidRequest(`${mistyped} must be a string`)
  // The journal of logins also asks for names that may have another type here.
  return (name) => textOf(members.get(name)) || undefined
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function wrongType(mediaType: string): OAuthError {
  return new OAuthError({
    error: 'invalid_request',
    description: `this grant_type needs content-type ${mediaType}`,
    status: 415,
  })
}

function tooLarge(): OAuthError {
  return new OAuthError({
    error: 'invalid_request',
    description: `the body is over ${requestLimits.tokenBytes / 1_024} KiB`,
    status: 413,
  })
}

const secondMs = 1_000

const publicIdText = 'this client id is public: send no secret, or use the id of a confidential client in a backend'
const confidentialIdText =
  'this client id is confidential: a backend sends its secret by HTTP Basic, a page or app uses the id of a public client'
const unknownIdText =
  'this service does not know the client_id: was it restarted without --data, or with other data? copy its new ids'
const wrongSecretText =
  'wrong secret of this client: copy it again, or make another on the page /auth/v1/clients; form-encode both parts of Basic (RFC 6749 section 2.3.1)'

/** Authenticates a confidential client by HTTP Basic. A public client only sends its client_id (spec 5.2). */
async function authenticateClient(c: Context<HttpEnvironment>, fields: Fields): Promise<ClientRecord> {
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
async function identifyPublicClient(c: Context<HttpEnvironment>, fields: Fields): Promise<ClientRecord> {
  const clientId = fields('client_id')
  if (clientId === undefined) throw authenticationFailed(c, undefined)
  const client = await findClient(c.get('service').store.db, clientId)
  if (client === undefined) throw authenticationFailed(c, undefined, unknownIdText)
  if (client.kind === 'confidential') throw authenticationFailed(c, client, confidentialIdText)
  if (fields('client_secret') !== undefined) throw authenticationFailed(c, client, publicIdText)
  return client
}

/**
 * Compares a presented secret without a delay, also during a wait. After some free failures, each wrong secret starts a wait of its client key, and of its address if that is known. Until it
 * ends, a wrong secret gets 429 in place of 401, and counts as no failure. A correct secret is always accepted, so that other
 * senders at the same address cannot lock this client out. A secret that the service made has 256 random bits, so that unlimited guesses
 * do not find it.
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
 * Returns undefined if the dev controls are off, so that an unknown id and a wrong secret get the same default text of `invalidClient`. Otherwise it returns a text that tells the two apart.
 */
function refusedSecretText(c: Context<HttpEnvironment>, client: ClientRecord | undefined): string | undefined {
  if (c.get('service').config.dev === 'off') return undefined
  return client === undefined ? unknownIdText : wrongSecretText
}

/**
 * Runs the same queries and comparisons whether the client exists or not, so that the time of a refusal tells no more than its text. A request without a secret does learn whether an id exists (`identifyPublicClient`), because ids are not secret.
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

/** Writes the failure to the journal, with the client if there is one, and returns the error. */
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

/** POST /auth/v1/token?grant_type=… Refusals are OAuth errors (RFC 6749 §5.2). */
export async function token(c: Context<HttpEnvironment>): Promise<Response> {
  try {
    return await respond(c)
  } catch (error) {
    if (error instanceof OAuthError) return errorResponse(c, error)
    throw error
  }
}

/** Checks method, origin, fields and client, in this order, and then the code or the refresh token. */
async function respond(c: Context<HttpEnvironment>): Promise<Response> {
  if (c.req.raw.method !== 'POST') throw methodNotAllowed()
  await checkOrigin(c)
  const service = c.get('service')
  const { grantType, fields } = await readTokenRequest(c.req.raw)
  c.set('grantType', grantType)
  // Set with dev controls only: what the dev page shows of this request.
  const trace = c.get('trace')
  if (trace !== undefined) trace.fields = fields
  const client = await authenticateClient(c, fields)
  c.set('clientId', client.id)
  const issueTokens = grantType === 'refresh_token' ? refresh : redeemCode
  const issued = await issueTokens(service, { client, fields })
  c.set('caller', { personId: issued.personId })
  return respondWith(c, tokenResponseBody(service, issued))
}

/**
 * Refuses a page of an unknown origin. Known are the origins of the service, those of `allowedOrigins`, and those of registered
 * redirect URIs. A client that is not a page sends no Origin.
 */
async function checkOrigin(c: Context<HttpEnvironment>): Promise<void> {
  const origin = c.req.header('origin')
  if (origin === undefined || ownOrigins(c.get('service').config.authUrl).has(origin)) return
  if (await isKnownOrigin(c, origin)) return
  const description = 'no client has a redirect URI of this origin; register one'
  throw new OAuthError({ error: 'invalid_request', description, status: 403 })
}

function errorResponse(c: Context<HttpEnvironment>, { error, status, headers, message }: OAuthError): Response {
  c.set('refusal', error)
  for (const [name, value] of Object.entries(headers)) c.header(name, value)
  return respondWith(c, { error, error_description: message }, status)
}

function respondWith(
  c: Context<HttpEnvironment>,
  body: Record<string, unknown>,
  status?: ContentfulStatusCode,
): Response {
  const trace = c.get('trace')
  if (trace !== undefined) trace.tokenResponse = body
  // Beside Cache-Control (RFC 6749 §5.1).
  c.header('Pragma', 'no-cache')
  return jsonResponse(c, body, status)
}

function methodNotAllowed(): OAuthError {
  const headers = { Allow: 'POST, OPTIONS' }
  return new OAuthError({ error: 'invalid_request', description: 'use POST', status: 405, headers })
}

/**
 * Returns the members of a token response. `minimal` has only the two that the specification of the service names, without `token_type`.
 */
function tokenResponseBody({ config, clock }: ServiceContext, issued: IssuedTokens): Record<string, string | number> {
  const refresh = issued.refreshToken === undefined ? {} : { refresh_token: issued.refreshToken }
  if (config.tokenResponse === 'minimal') return { access_token: issued.accessToken, ...refresh }
  const expiresIn = Math.max(0, Math.round((issued.accessExpiresMs - clock.nowMs()) / 1_000))
  return {
    access_token: issued.accessToken,
    token_type: 'Bearer',
    expires_in: expiresIn,
    ...refresh,
    scope: issued.scope,
  }
}
