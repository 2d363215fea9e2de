import type { ServiceContext } from '../context.ts'
import { decrypt, encrypt, hashToken } from '../credentials/secrets.ts'
import { transact } from '../store/engine/transact.ts'
import type { Db } from '../store/store.ts'
import { findAccessToken } from '../store/tables/access-tokens.ts'
import { lockAuthorizationOf, revokeAuthorization } from '../store/tables/authorizations.ts'
import type { ClientRecord } from '../store/tables/clients.ts'
import type { Ineligible } from '../store/tables/grant-eligibility.ts'
import { findEligibility } from '../store/tables/grant-eligibility.ts'
import type { LiveRefreshToken, RefreshToken } from '../store/tables/refresh-tokens.ts'
import {
  extendIdleLife,
  findLiveRefreshToken,
  findRefreshTokenUse,
  markRefreshTokenUsed,
} from '../store/tables/refresh-tokens.ts'
import type { IssuedTokens, Replay } from './issue.ts'
import { idleExpiry, issueAccessToken, issuePair } from './issue.ts'
import { invalidGrant, invalidRequest, OAuthError, unauthorizedClient } from './oauth-error.ts'
import type { TokenFields } from './request.ts'

type Result = IssuedTokens | Replay | Ineligible | 'refused' | 'wider'

interface Use extends LiveRefreshToken {
  tx: Db
  client: ClientRecord
  presented: string
  permissions: string[]
}

/** Refresh token → tokens, in one transaction that holds the lock of the whole family (S-047). */
export async function refreshGrant(
  service: ServiceContext,
  { client, fields }: { client: ClientRecord; fields: TokenFields },
): Promise<IssuedTokens> {
  const presented = fields('refresh_token')
  if (presented === undefined) throw invalidRequest('refresh_token is missing')
  const scope = fields('scope')
  const result = await transact(service.store.db, (tx) => findAndUse(service, { tx, client, presented }, scope))
  if (result === 'refused' || result === 'account-inactive') throw invalidGrant()
  if (result === 'wider') {
    throw new OAuthError({ error: 'invalid_scope', description: 'the grant has no other scope than api.access' })
  }
  if (typeof result === 'string') throw unauthorizedClient(result)
  if ('replayOf' in result) {
    service.journal.event('refresh_token_reused', { clientId: client.id, ...result.replayOf })
    throw invalidGrant()
  }
  return result
}

async function findAndUse(
  service: ServiceContext,
  { tx, client, presented }: Pick<Use, 'tx' | 'client' | 'presented'>,
  scope: string | undefined,
): Promise<Result> {
  const nowMs = service.clock.nowMs()
  const hash = hashToken(presented)
  await lockAuthorizationOf(tx, hash, nowMs)
  const live = await findLiveRefreshToken(tx, { hash, clientId: client.id, nowMs })
  if (live === undefined) return 'refused'
  const { token, authorization } = live
  const { personId, tenantId } = authorization
  // A reuse is found before eligibility is read, because two parties have the token even if it gives nothing now.
  if (token.usedMs !== null && !(await isInGrace(service, tx, token))) {
    await revokeAuthorization(tx, authorization.id, nowMs)
    return { replayOf: { personId, tenant: tenantId } }
  }
  const eligibility = await findEligibility(tx, { clientId: client.id, personId, tenantId })
  if (typeof eligibility === 'string') return eligibility
  if (!isHeld(scope, authorization.scope)) return 'wider'
  const use = { tx, client, presented, ...live, permissions: eligibility.permissions }
  if (token.usedMs !== null) return giveAgain(service, use)
  if (token.idleExpiresMs <= nowMs) return 'refused'
  return service.config.rotation === 'rotate' ? rotate(service, use) : keep(service, use)
}

/** A grant has one scope value, so no scope is narrower; named twice it is still the same (RFC 6749 §3.3, §6, A-53). */
function isHeld(scope: string | undefined, granted: string): boolean {
  return scope === undefined || scope.split(' ').every((name) => name === granted)
}

async function rotate(service: ServiceContext, use: Use): Promise<IssuedTokens> {
  const pair = await issuePair(service, { ...use, kind: use.client.kind })
  await markRefreshTokenUsed(use.tx, {
    hash: use.token.hash,
    usedMs: service.clock.nowMs(),
    successorHash: hashToken(pair.refreshToken),
    // Only the holder of the old token can read the new pair (S-049).
    successorEncrypted: encrypt(use.presented, JSON.stringify(pair)),
  })
  return pair
}

/** Without rotation the same refresh token goes on, and its idle life starts again. */
async function keep(service: ServiceContext, use: Use): Promise<IssuedTokens> {
  const idleExpiresMs = idleExpiry(use.authorization, use.client.kind, service.clock.nowMs())
  await extendIdleLife(use.tx, use.token.hash, idleExpiresMs)
  return issueAccessToken(service, use)
}

/**
 * Whether a token that was rotated before may come again: its owner may have lost the answer, so for a short while, and
 * as long as nobody used the successor, the same pair is given (S-048). Anything else means that two parties hold the
 * token (S-050).
 */
async function isInGrace({ clock, config }: ServiceContext, tx: Db, token: RefreshToken): Promise<boolean> {
  if (token.usedMs === null || clock.nowMs() - token.usedMs >= config.graceMs) return false
  // The successor is not revoked, because a revocation takes all tokens of a family and this one is live.
  if (token.successorHash === null || token.successorEncrypted === null) return false
  return (await findRefreshTokenUse(tx, token.successorHash)) === 'unused'
}

/** The pair once more. An access token that has ended since gives way to a live one. */
async function giveAgain(service: ServiceContext, use: Use): Promise<IssuedTokens> {
  const pair = JSON.parse(decrypt(use.presented, use.token.successorEncrypted ?? '')) as IssuedTokens
  const live = await findAccessToken(use.tx, hashToken(pair.accessToken), service.clock.nowMs())
  return live === undefined ? { ...pair, ...(await issueAccessToken(service, use)) } : pair
}
