import type { Context } from 'hono'
import { isKnownOrigin } from '../http/cors.ts'
import type { HttpEnvironment } from '../http/environment.ts'
import { ownOrigins } from '../http/host-guard.ts'
import { jsonResponse } from '../http/json-response.ts'
import { authenticateClient } from './client-authentication.ts'
import { tokenResponseBody } from './issue.ts'
import { OAuthError } from './oauth-error.ts'
import { exchangeCode } from './redeem-code.ts'
import { refreshGrant } from './refresh.ts'
import { readTokenRequest } from './request.ts'

/** POST /auth/v1/token?grant_type=… */
export async function token(c: Context<HttpEnvironment>): Promise<Response> {
  try {
    return await answer(c)
  } catch (error) {
    if (error instanceof OAuthError) return refuse(c, error)
    throw error
  }
}

async function answer(c: Context<HttpEnvironment>): Promise<Response> {
  if (c.req.raw.method !== 'POST') throw notAllowed()
  await refuseForeignOrigin(c)
  const service = c.get('service')
  const { grantType, fields } = await readTokenRequest(c.req.raw)
  c.set('grantType', grantType)
  const client = await authenticateClient(c, fields)
  c.set('clientId', client.id)
  const issued = await (grantType === 'refresh_token' ? refreshGrant : exchangeCode)(service, { client, fields })
  return jsonResponse(c, tokenResponseBody(service, issued))
}

/** A page that is registered nowhere has no business here; a client off the web sends no Origin (S-083). */
async function refuseForeignOrigin(c: Context<HttpEnvironment>): Promise<void> {
  const origin = c.req.header('origin')
  if (origin === undefined || ownOrigins(c.get('service').config.authUrl).has(origin)) return
  if (await isKnownOrigin(c, origin)) return
  throw new OAuthError({ error: 'invalid_request', description: 'this origin is not registered', status: 403 })
}

function refuse(c: Context<HttpEnvironment>, { error, status, headers, message }: OAuthError): Response {
  for (const [name, value] of Object.entries(headers)) c.header(name, value)
  return jsonResponse(c, { error, error_description: message }, status)
}

function notAllowed(): OAuthError {
  return new OAuthError({
    error: 'invalid_request',
    description: 'use POST',
    status: 405,
    headers: { Allow: 'POST, OPTIONS' },
  })
}
