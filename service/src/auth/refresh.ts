import type { ServiceContext } from '../context.ts'
import type { ClientRecord } from '../store/clients.ts'
import type { LiveRefreshToken } from '../store/grants.ts'
import {
  extendIdleLife,
  findLiveRefreshToken,
  findRefreshToken,
  lockGrantOfRefreshToken,
  markRefreshTokenUsed,
  revokeGrant,
} from '../store/grants.ts'
import { findStanding } from '../store/standing.ts'
import type { Db } from '../store/store.ts'
import { transact } from '../store/transact.ts'
import type { IssuedTokens, Replay } from './issue.ts'
import { idleExpiry, issueAccessToken, issuePair } from './issue.ts'
import { invalidGrant, invalidRequest, OAuthError } from './oauth-error.ts'
import { hashToken, seal, unseal } from './secrets.ts'
import type { TokenFields } from './token-request.ts'

type Result = IssuedTokens | Replay | 'refused' | 'unapproved'

interface Use {
  tx: Db
  client: ClientRecord
  presented: string
  /** The token's record and its grant's. */
  grant: LiveRefreshToken
  permissions: string[]
}

/** Refresh token → tokens, in one transaction that holds the lock of the whole family (S-047). */
export async function refreshGrant(
  service: ServiceContext,
  { client, fields }: { client: ClientRecord; fields: TokenFields },
): Promise<IssuedTokens> {
  const presented = fields('refresh_token')
  if (presented === undefined) throw invalidRequest('refresh_token is missing')
  if (fields('scope') !== undefined) {
    throw new OAuthError({ error: 'invalid_scope', description: 'the scope of a grant stays as it is' })
  }
  const result = await transact(service.store.db, (tx) => findAndUse(service, { tx, client, presented }))
  if (result === 'refused') throw invalidGrant()
  if (result === 'unapproved') {
    throw new OAuthError({ error: 'unauthorized_client', description: 'the client is not approved' })
  }
  if ('replayOf' in result) {
    service.journal.event('refresh_token_reused', { clientId: client.id, ...result.replayOf })
    throw invalidGrant()
  }
  return result
}

async function findAndUse(
  service: ServiceContext,
  { tx, client, presented }: Pick<Use, 'tx' | 'client' | 'presented'>,
): Promise<Result> {
  const nowMs = service.clock.nowMs()
  const hash = hashToken(presented)
  await lockGrantOfRefreshToken(tx, hash, nowMs)
  const grant = await findLiveRefreshToken(tx, { hash, clientId: client.id, nowMs })
  if (grant === undefined) return 'refused'
  const standing = await findStanding(tx, {
    clientId: client.id,
    personId: grant.person_id,
    tenantId: grant.tenant_id,
  })
  if (typeof standing === 'string') return standing
  const use = { tx, client, presented, grant, permissions: standing.permissions }
  if (grant.used_ms !== null) return useAgain(service, use)
  if (grant.idle_expires_ms <= nowMs) return 'refused'
  return service.config.rotation === 'rotate' ? rotate(service, use) : keep(service, use)
}

async function rotate(service: ServiceContext, use: Use): Promise<IssuedTokens> {
  const pair = await issuePair(service, { ...use, kind: use.client.kind })
  await markRefreshTokenUsed(use.tx, {
    hash: use.grant.hash,
    usedMs: service.clock.nowMs(),
    successorHash: hashToken(pair.refreshToken),
    // Only the holder of the old token can read the new pair (S-049).
    successorSealed: seal(use.presented, JSON.stringify(pair)),
  })
  return pair
}

/** Without rotation the same refresh token goes on, and its idle life starts anew. */
async function keep(service: ServiceContext, use: Use): Promise<IssuedTokens> {
  const idleExpiresMs = idleExpiry(use.grant, use.client.kind, service.clock.nowMs())
  await extendIdleLife(use.tx, use.grant.hash, idleExpiresMs)
  return issueAccessToken(service, use)
}

/**
 * A token that was rotated before. Its owner may have lost the answer: for a short while, and as long as nobody used
 * the successor, the same pair is given again (S-048). Anything else means that two parties hold the token (S-050).
 */
async function useAgain(service: ServiceContext, { tx, presented, grant }: Use): Promise<Result> {
  const nowMs = service.clock.nowMs()
  const isInGrace = grant.used_ms !== null && nowMs - grant.used_ms < service.config.graceMs
  const successor = grant.successor_hash === null ? undefined : await findRefreshToken(tx, grant.successor_hash)
  // Whatever revokes one token of a family revokes this one too.
  const isFresh = successor !== undefined && successor.used_ms === null
  if (isInGrace && isFresh && grant.successor_sealed !== null) {
    return JSON.parse(unseal(presented, grant.successor_sealed)) as IssuedTokens
  }
  await revokeGrant(tx, grant.id, nowMs)
  return { replayOf: { personId: grant.person_id, tenant: grant.tenant_id } }
}
