import type { ServiceContext } from '../context.ts'
import {
  decrypt,
  encrypt,
  type IssuedTokens,
  type IssueResult,
  idleExpiry,
  issueAccessToken,
  randomToken,
  type TokenUser,
} from '../credentials/tokens.ts'
import type { Fields } from '../http/messages.ts'
import type { ClientRecord } from '../store/clients.ts'
import { type Db, hashToken, transact } from '../store/database.ts'
import {
  extendIdleLife,
  findBearerOfAccessToken,
  findRefreshTokenUse,
  findUnrevokedRefreshToken,
  lockAuthorizationOf,
  type RefreshToken,
  replaceRefreshToken,
  revokeAuthorization,
  type UnrevokedRefreshToken,
} from '../store/tokens.ts'
import { invalidGrant, invalidRequest, OAuthError, unauthorizedClient } from './oauth-error.ts'

interface PresentedToken {
  refreshToken: string
  /** The scope that the client asks for, if it names one. */
  scope: string | undefined
}

/** A request for a refresh, before its checks. */
interface PresentedRefresh {
  tx: Db
  client: ClientRecord
  presented: PresentedToken
}

/** A presented refresh token that passed all checks, and the data from which the tokens of the response are issued. */
interface RefreshTokenUse extends PresentedRefresh, Pick<UnrevokedRefreshToken, 'token' | 'authorization'> {
  user: TokenUser
  /** Set if the token was used before, and is in its grace period. */
  successorEncrypted: string | undefined
}

/**
 * Issues tokens for a refresh token (RFC 6749 §6). Each use replaces it, unless `rotation` is `none`. A used token can come again, for
 * example after a lost response. It then gives the same tokens again, if it comes in its grace period (option `graceMs`) and if its successor is unused. If their access token is no longer valid, the
 * response has a new one. A used token that comes later, or after a use of its successor, ends the authorization with all of its tokens.
 * Throws an OAuthError if the token is refused.
 */
export async function refresh(
  service: ServiceContext,
  { client, fields }: { client: ClientRecord; fields: Fields },
): Promise<IssuedTokens> {
  const refreshToken = fields('refresh_token')
  if (refreshToken === undefined) throw invalidRequest('refresh_token is missing')
  const presented = { refreshToken, scope: fields('scope') }
  const result = await transact(service.store.db, (tx) => checkAndIssue(service, { tx, client, presented }))
  switch (result.kind) {
    case 'issued':
      return result.tokens
    case 'invalid':
      throw invalidGrant()
    case 'other-scope':
      throw new OAuthError({ error: 'invalid_scope', description: 'scope cannot be changed on refresh; omit it' })
    case 'unapproved':
      throw unauthorizedClient(result.reason)
    case 'reused':
      service.journal.event('refresh_token_reused', { clientId: client.id, ...result.user })
      throw invalidGrant()
  }
}

/** Locks the authorization first, until the transaction ends, so that uses of one token family run one after the other. */
async function checkAndIssue(
  service: ServiceContext,
  { tx, client, presented }: PresentedRefresh,
): Promise<IssueResult | { kind: 'other-scope' }> {
  const nowMs = service.clock.nowMs()
  const hash = hashToken(presented.refreshToken)
  await lockAuthorizationOf(tx, hash, nowMs)
  const found = await findUnrevokedRefreshToken(tx, { hash, clientId: client.id, nowMs })
  if (found === undefined) return { kind: 'invalid' }
  const { token, authorization, eligibility } = found
  const { personId, tenantId } = authorization
  // A reuse is looked for before eligibility, because two parties may have the token even if the user or the client may get no tokens now.
  // The revocation ends every refresh and access token of the authorization.
  const successorEncrypted = await repeatableSuccessor(service, tx, token)
  if (token.usedMs !== null && successorEncrypted === undefined) {
    await revokeAuthorization(tx, { id: authorization.id, nowMs })
    return { kind: 'reused', user: { personId, tenant: tenantId } }
  }
  if (eligibility === 'account-inactive') return { kind: 'invalid' }
  if (typeof eligibility === 'string') return { kind: 'unapproved', reason: eligibility }
  if (!isSameScope(presented.scope, authorization.scope)) return { kind: 'other-scope' }
  // A used token comes this far only in its grace period, and gives its successor again, whose idle life is far longer than `graceMs`. So
  // only the idle life of an unused token is checked.
  if (token.usedMs === null && token.idleExpiresMs <= nowMs) return { kind: 'invalid' }
  const use = { tx, client, presented, token, authorization, user: eligibility, successorEncrypted }
  return { kind: 'issued', tokens: await issue(service, use) }
}

/** Returns whether the request asks for no other scope. An authorization has one scope (RFC 6749 §3.3, §6). */
function isSameScope(requested: string | undefined, authorized: string): boolean {
  return requested === undefined || requested.split(' ').every((name) => name === authorized)
}

/**
 * Returns the encrypted tokens that a used token gets again, because the client may have lost the response: only within `graceMs`, and
 * only while the refresh token among them is unused. Otherwise it returns undefined, as for an unused token. If a used
 * token gets undefined, two parties may have it.
 */
async function repeatableSuccessor(
  { clock, config }: ServiceContext,
  tx: Db,
  token: RefreshToken,
): Promise<string | undefined> {
  if (token.usedMs === null || clock.nowMs() - token.usedMs >= config.graceMs) return undefined
  // The successor needs no check of its own for a revocation, because what revokes it revokes this token too.
  if (token.successorHash === null || token.successorEncrypted === null) return undefined
  const successor = await findRefreshTokenUse(tx, { hash: token.successorHash })
  return successor?.usedMs === null ? token.successorEncrypted : undefined
}

function issue(service: ServiceContext, use: RefreshTokenUse): Promise<IssuedTokens> {
  if (use.successorEncrypted !== undefined) return repeatSuccessor(service, use, use.successorEncrypted)
  return service.config.rotation === 'rotate' ? rotate(service, use) : keep(service, use)
}

async function rotate(service: ServiceContext, use: RefreshTokenUse): Promise<IssuedTokens> {
  const refreshToken = randomToken('art_')
  const { accessToken, accessExpiresMs, scope, personId } = await issueAccessToken(service, use)
  const pair = { accessToken, accessExpiresMs, refreshToken, scope, personId }
  const nowMs = service.clock.nowMs()
  await replaceRefreshToken(use.tx, {
    hash: use.token.hash,
    authorizationId: use.authorization.id,
    idleExpiresMs: idleExpiry(use.authorization, use.client.kind, nowMs),
    usedMs: nowMs,
    successorHash: hashToken(refreshToken),
    // Only a client that has the old token can read the new ones, because the database has just its hash.
    successorEncrypted: encrypt(use.presented.refreshToken, JSON.stringify(pair)),
  })
  return pair
}

/** Extends the idle life of the refresh token, which the client keeps, because rotation is off. */
async function keep(service: ServiceContext, use: RefreshTokenUse): Promise<IssuedTokens> {
  const idleExpiresMs = idleExpiry(use.authorization, use.client.kind, service.clock.nowMs())
  await extendIdleLife(use.tx, { hash: use.token.hash, idleExpiresMs })
  return issueAccessToken(service, use)
}

/**
 * Returns the tokens that the first use got. If their access token is no longer valid, a new one replaces it beside the same
 * refresh token.
 */
async function repeatSuccessor(
  service: ServiceContext,
  use: RefreshTokenUse,
  successorEncrypted: string,
): Promise<IssuedTokens> {
  const { tx, presented } = use
  const pair = JSON.parse(decrypt(presented.refreshToken, successorEncrypted)) as IssuedTokens
  const bearer = await findBearerOfAccessToken(tx, hashToken(pair.accessToken), service.clock.nowMs())
  return bearer === undefined ? { ...pair, ...(await issueAccessToken(service, use)) } : pair
}
