import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { jsonResponse } from '../http/json-response.ts'
import { isKnownOrigin } from '../http/middleware/cors.ts'
import { ownOrigins } from '../http/middleware/host-guard.ts'
import { authenticateClient } from './client-authentication.ts'
import { tokenResponseBody } from './issue-tokens.ts'
import { OAuthError } from './oauth-error.ts'
import { redeemCode } from './redeem-code.ts'
import { refresh } from './refresh.ts'
import { readTokenRequest } from './token-request.ts'

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
  // Set with dev controls only: what the dev page shows of this request (`LoginTrace` in http/hono-environment.ts).
  const trace = c.get('trace')
  if (trace !== undefined) trace.fields = fields
  const client = await authenticateClient(c, fields)
  c.set('clientId', client.id)
  const issueTokens = grantType === 'refresh_token' ? refresh : redeemCode
  const issued = await issueTokens(service, { client, fields })
  if (issued.personId !== undefined) c.set('caller', { personId: issued.personId })
  return respondWith(c, tokenResponseBody(service, issued))
}

/**
 * Refuses a page of an unknown origin (S-083). Known are the origins of the service, those of `allowedOrigins`, and those of registered
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
  return jsonResponse(c, body, status)
}

function methodNotAllowed(): OAuthError {
  const headers = { Allow: 'POST, OPTIONS' }
  return new OAuthError({ error: 'invalid_request', description: 'use POST', status: 405, headers })
}
