import { createHash } from 'node:crypto'
import type { ServiceContext } from '../context.ts'
import { hashToken, randomId, sameText } from '../credentials/secrets.ts'
import { matchesRegistered } from '../redirect-uris.ts'
import { transact } from '../store/engine/transact.ts'
import type { Db } from '../store/store.ts'
import type { Authorization } from '../store/tables/authorizations.ts'
import { revokeAuthorization, saveAuthorization } from '../store/tables/authorizations.ts'
import type { ClientRecord } from '../store/tables/clients.ts'
import { findRedirectUrisOf } from '../store/tables/clients.ts'
import type { AuthorizationCode } from '../store/tables/codes.ts'
import { countAttempt, markCodeUsed } from '../store/tables/codes.ts'
import type { Ineligible } from '../store/tables/grant-eligibility.ts'
import { findEligibility } from '../store/tables/grant-eligibility.ts'
import type { IssuedTokens, Replay } from './issue.ts'
import { absoluteLifeMs, issuePair } from './issue.ts'
import { invalidGrant, invalidRequest, unauthorizedClient } from './oauth-error.ts'
import type { TokenFields } from './request.ts'

//
const mostAttempts = 5

interface Presented {
  code: string
  redirectUri: string
  verifier: string | undefined
}

/** Code → tokens. Refusals inside the transaction are values, because what they counted or revoked must be kept. */
export async function exchangeCode(
  service: ServiceContext,
  { client, fields }: { client: ClientRecord; fields: TokenFields },
): Promise<IssuedTokens> {
  const presented = readPresented(fields)
  const result = await transact(service.store.db, (tx) => redeem(service, { tx, client, presented }))
  if (result === 'refused' || result === 'account-inactive')
    throw invalidGrant(await uriProblem(service, client, presented.redirectUri))
  if (typeof result === 'string') throw unauthorizedClient(result)
  if ('replayOf' in result) {
    service.journal.event('code_replayed', { clientId: client.id, ...result.replayOf })
    throw invalidGrant()
  }
  return result
}

/** Names a return address that is registered nowhere for the client, which says nothing of the code. */
async function uriProblem(
  { store }: ServiceContext,
  { id, kind }: ClientRecord,
  redirectUri: string,
): Promise<string | undefined> {
  const uris = await findRedirectUrisOf(store.db, id)
  if (uris.some((registered) => matchesRegistered(redirectUri, registered.redirectUri, kind))) return undefined
  return 'redirect_uri is not registered for this client; agent-service registers one with --redirect-uri'
}

function readPresented(fields: TokenFields): Presented {
  const code = fields('code')
  const redirectUri = fields('redirect_uri')
  if (code === undefined) throw invalidRequest('code is missing')
  if (redirectUri === undefined) throw invalidRequest('redirect_uri is missing')
  return { code, redirectUri, verifier: fields('code_verifier') }
}

async function redeem(
  service: ServiceContext,
  { tx, client, presented }: { tx: Db; client: ClientRecord; presented: Presented },
): Promise<IssuedTokens | Replay | Ineligible | 'refused'> {
  const nowMs = service.clock.nowMs()
  const code = await countAttempt(tx, hashToken(presented.code))
  if (code === undefined || !isBound(code, client, presented)) return 'refused'
  const { personId, tenantId } = code
  if (code.usedMs !== null) {
    // Only a fully valid replay proves that the code leaked (S-028).
    if (code.authorizationId !== null) await revokeAuthorization(tx, code.authorizationId, nowMs)
    return { replayOf: { personId, tenant: tenantId } }
  }
  if (code.attempts > mostAttempts || code.expiresMs <= nowMs) return 'refused'
  const eligibility = await findEligibility(tx, { clientId: client.id, personId, tenantId })
  if (typeof eligibility === 'string') return eligibility
  const authorization = await startAuthorization(tx, { code, client, nowMs })
  return issuePair(service, { tx, authorization, permissions: eligibility.permissions, kind: client.kind })
}

/** Client, redirect URI and verifier are those the code was made for (S-026, S-031). */
function isBound(code: AuthorizationCode, client: ClientRecord, { redirectUri, verifier }: Presented): boolean {
  if (code.clientId !== client.id || code.redirectUri !== redirectUri) return false
  if (code.codeChallenge === null) return verifier === undefined
  return verifier !== undefined && fitsChallenge(verifier, code.codeChallenge)
}

/** Grammar first: a short verifier could be guessed (S-030). */
function fitsChallenge(verifier: string, challenge: string): boolean {
  if (!/^[A-Za-z0-9\-._~]{43,128}$/.test(verifier)) return false
  return sameText(createHash('sha256').update(verifier).digest('base64url'), challenge)
}

async function startAuthorization(
  tx: Db,
  { code, client, nowMs }: { code: AuthorizationCode; client: ClientRecord; nowMs: number },
): Promise<Authorization> {
  const { personId, tenantId, scope } = code
  const expiresMs = nowMs + absoluteLifeMs[client.kind]
  const authorization = { id: randomId('grant'), clientId: client.id, personId, tenantId, scope, expiresMs }
  await saveAuthorization(tx, authorization, nowMs)
  await markCodeUsed(tx, { hash: code.hash, authorizationId: authorization.id, nowMs, keepUntilMs: expiresMs })
  return authorization
}
