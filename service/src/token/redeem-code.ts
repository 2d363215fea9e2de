import { hash } from 'node:crypto'
import type { ServiceContext } from '../context.ts'
import {
  absoluteLifeMs,
  type IssuedTokens,
  type IssueResult,
  issuePair,
  randomId,
  sameText,
} from '../credentials/tokens.ts'
import type { Fields } from '../http/messages.ts'
import { requestLimits } from '../limits.ts'
import { matchesRegistered } from '../redirect-uris.ts'
import { type ClientRecord, findRedirectUris } from '../store/clients.ts'
import { type Db, hashToken, transact } from '../store/database.ts'
import {
  type Authorization,
  type AuthorizationCode,
  countAttempt,
  findEligibility,
  markCodeUsed,
  revokeAuthorization,
  saveAuthorization,
} from '../store/tokens.ts'
import { invalidGrant, invalidRequest, unauthorizedClient } from './oauth-error.ts'

interface PresentedCode {
  code: string
  redirectUri: string
  verifier: string | undefined
}

interface Redemption {
  tx: Db
  client: ClientRecord
  presented: PresentedCode
}

/**
 * Redeems an authorization code for tokens, once and within the option `codeLifeMs`. A code is good for some requests with
 * it, refused ones included. Throws an OAuthError if it is
 * refused (RFC 6749 §4.1.3, RFC 7636 §4.5).
 */
export async function redeemCode(
  service: ServiceContext,
  { client, fields }: { client: ClientRecord; fields: Fields },
): Promise<IssuedTokens> {
  const presented = readPresented(fields)
  const result = await transact(service.store.db, (tx) => redeem(service, { tx, client, presented }))
  switch (result.kind) {
    case 'issued':
      return result.tokens
    case 'invalid':
      throw invalidGrant(await redirectUriProblem(service, client, presented.redirectUri))
    case 'unapproved':
      throw unauthorizedClient(result.reason)
    case 'reused':
      service.journal.event('code_replayed', { clientId: client.id, ...result.user })
      throw invalidGrant()
  }
}

function readPresented(fields: Fields): PresentedCode {
  const code = fields('code')
  const redirectUri = fields('redirect_uri')
  if (code === undefined) throw invalidRequest('code is missing')
  if (redirectUri === undefined) throw invalidRequest('redirect_uri is missing')
  return { code, redirectUri, verifier: fields('code_verifier') }
}

async function redeem(service: ServiceContext, { tx, client, presented }: Redemption): Promise<IssueResult> {
  const nowMs = service.clock.nowMs()
  // Counting locks the row of the code until the transaction ends, so of two requests at once the second one sees `usedMs`.
  const code = await countAttempt(tx, { hash: hashToken(presented.code) })
  if (code === undefined || !isBoundTo(code, client, presented)) return { kind: 'invalid' }
  const { personId, tenantId } = code
  if (code.usedMs !== null) {
    // This request has the client, redirect URI and verifier of the used code, so two parties may have the code. The authorization is
    // revoked, and all its refresh and access tokens end. A used code with another verifier was refused above and revokes nothing.
    // A used code has an authorization (`markCodeUsed`), which its type does not say.
    if (code.authorizationId !== null) await revokeAuthorization(tx, { id: code.authorizationId, nowMs })
    return { kind: 'reused', user: { personId, tenant: tenantId } }
  }
  if (code.attempts > requestLimits.codeAttempts || code.expiresMs <= nowMs) return { kind: 'invalid' }
  const eligibility = await findEligibility(tx, { clientId: client.id, personId, tenantId })
  if (eligibility === 'account-inactive') return { kind: 'invalid' }
  if (typeof eligibility === 'string') return { kind: 'unapproved', reason: eligibility }
  const authorization = await startAuthorization(tx, { code, client, nowMs })
  const tokens = await issuePair(service, { tx, authorization, user: eligibility, clientKind: client.kind })
  return { kind: 'issued', tokens }
}

/** Returns whether client, redirect URI and verifier are those that the code was issued for. */
function isBoundTo(code: AuthorizationCode, client: ClientRecord, { redirectUri, verifier }: PresentedCode): boolean {
  if (code.clientId !== client.id || code.redirectUri !== redirectUri) return false
  if (code.codeChallenge === null) return verifier === undefined
  return verifier !== undefined && matchesChallenge(verifier, code.codeChallenge)
}

/** Checks the grammar of the verifier first, because a short one could be guessed (RFC 7636 §4.1). */
function matchesChallenge(verifier: string, challenge: string): boolean {
  if (!/^[A-Za-z0-9\-._~]{43,128}$/.test(verifier)) return false
  return sameText(hash('sha256', verifier, 'base64url'), challenge)
}

async function startAuthorization(
  tx: Db,
  { code, client, nowMs }: { code: AuthorizationCode; client: ClientRecord; nowMs: number },
): Promise<Authorization> {
  const { personId, tenantId, scope } = code
  const expiresMs = nowMs + absoluteLifeMs[client.kind]
  const authorization = { id: randomId('grant'), clientId: client.id, personId, tenantId, scope, expiresMs }
  await saveAuthorization(tx, { ...authorization, nowMs })
  await markCodeUsed(tx, { hash: code.hash, authorizationId: authorization.id, nowMs, keepUntilMs: expiresMs })
  return authorization
}

/** Returns an error description if the client has not registered this redirect URI, else undefined. It reveals nothing about the code. */
async function redirectUriProblem(
  { store }: ServiceContext,
  { id, kind }: ClientRecord,
  redirectUri: string,
): Promise<string | undefined> {
  const uris = await findRedirectUris(store.db, id)
  if (uris.some((registered) => matchesRegistered(redirectUri, registered, kind))) return undefined
  return 'redirect_uri is not registered for this client; agent-service registers one with --redirect-uri'
}
