import { inKibibytes } from '../byte-count.ts'
import { hasMediaType, jsonMembers, parseForm, readAtMost } from '../http/body.ts'
import { parseQuery } from '../http/query.ts'
import { requestLimits } from '../limits.ts'
import { invalidRequest, OAuthError } from './oauth-error.ts'

/** Returns a field of one token request, or undefined if it is absent or empty. A request that repeats a field was refused before. */
export type TokenFields = (name: string) => string | undefined

export interface TokenRequest {
  grantType: 'authorization_code' | 'refresh_token'
  fields: TokenFields
}

// A query may hold none of these, because servers and proxies write URLs to their logs.
const bodyOnly = ['code', 'refresh_token', 'client_secret', 'code_verifier', 'client_id', 'redirect_uri', 'scope']
const protocolNames = [...bodyOnly, 'grant_type']

/**
 * Takes grant_type from the query, and refuses a body that names another one. Reads the other fields from a form (code) or a JSON
 * object (refresh token).
 */
export async function readTokenRequest(request: Request): Promise<TokenRequest> {
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

function formFields(text: string): TokenFields {
  const form = parseForm(text)
  if (form.kind === 'repeated') throw invalidRequest('a form field is repeated; send each one once')
  return form.get
}

function jsonFields(text: string): TokenFields {
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
    description: `the body is over ${inKibibytes(requestLimits.tokenBytes)}`,
    status: 413,
  })
}
