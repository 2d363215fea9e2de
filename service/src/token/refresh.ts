import type { ServiceContext } from '../context.ts'
import { hashToken, seal, unseal } from '../credentials/secrets.ts'
import { transact } from '../store/engine/transact.ts'
import type { Db } from '../store/store.ts'
import { findAccessToken } from '../store/tables/access-tokens.ts'
import type { ClientRecord } from '../store/tables/clients.ts'
import type { Standing } from '../store/tables/grant-eligibility.ts'
import { findStanding } from '../store/tables/grant-eligibility.ts'
import type { LiveRefreshToken } from '../store/tables/grants.ts'
import {
  extendIdleLife,
  findLiveRefreshToken,
  findRefreshToken,
  lockGrantOfRefreshToken,
  markRefreshTokenUsed,
  revokeGrant,
} from '../store/tables/grants.ts'
import type { IssuedTokens, Replay } from './issue.ts'
import { idleExpiry, issueAccessToken, issuePair } from './issue.ts'
import { invalidGrant, invalidRequest, OAuthError, unauthorizedClient } from './oauth-error.ts'
import type { TokenFields } from './request.ts'

type Result = IssuedTokens | Replay | Exclude<Standing, object> | 'wider'

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
  const scope = fields('scope')
  const result = await transact(service.store.db, (tx) => findAndUse(service, { tx, client, presented }, scope))
  if (result === 'refused') throw invalidGrant()
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
  await lockGrantOfRefreshToken(tx, hash, nowMs)
  const grant = await findLiveRefreshToken(tx, { hash, clientId: client.id, nowMs })
  if (grant === undefined) return 'refused'
  // Before the client's and the person's standing: whatever that is, two parties hold the token.
  if (grant.used_ms !== null && !(await isInGrace(service, tx, grant))) {
    await revokeGrant(tx, grant.id, nowMs)
    return { replayOf: { personId: grant.person_id, tenant: grant.tenant_id } }
  }
  const standing = await findStanding(tx, {
    clientId: client.id,
    personId: grant.person_id,
    tenantId: grant.tenant_id,
  })
  if (typeof standing === 'string') return standing
  if (!isHeld(scope, grant.scope)) return 'wider'
  const use = { tx, client, presented, grant, permissions: standing.permissions }
  if (grant.used_ms !== null) return giveAgain(service, use)
  if (grant.idle_expires_ms <= nowMs) return 'refused'
  return service.config.rotation === 'rotate' ? rotate(service, use) : keep(service, use)
}

/** A grant has one scope value, so no scope is narrower; named twice it is still the same (RFC 6749 §3.3, §6, A-53). */
function isHeld(scope: string | undefined, granted: string): boolean {
  return scope === undefined || scope.split(' ').every((name) => name === granted)
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
 * Whether a token that was rotated before may come again: its owner may have lost the answer, so for a short while, and
 * as long as nobody used the successor, the same pair is given (S-048). Anything else means that two parties hold the
 * token (S-050).
 */
async function isInGrace({ clock, config }: ServiceContext, tx: Db, grant: LiveRefreshToken): Promise<boolean> {
  if (grant.used_ms === null || clock.nowMs() - grant.used_ms >= config.graceMs) return false
  // Whatever revokes one token of a family revokes this one too.
  const successor = grant.successor_hash === null ? undefined : await findRefreshToken(tx, grant.successor_hash)
  return successor !== undefined && successor.used_ms === null && grant.successor_sealed !== null
}

/** The pair once more. An access token that has ended since gives way to a live one. */
async function giveAgain(service: ServiceContext, use: Use): Promise<IssuedTokens> {
  const pair = JSON.parse(unseal(use.presented, use.grant.successor_sealed ?? '')) as IssuedTokens
  const live = await findAccessToken(use.tx, hashToken(pair.accessToken), service.clock.nowMs())
  return live === undefined ? { ...pair, ...(await issueAccessToken(service, use)) } : pair
}
