import type { ServiceContext } from '../context.ts'
import { signAccessToken } from '../credentials/access-tokens.ts'
import { hashToken, randomToken } from '../credentials/secrets.ts'
import { lifetimes } from '../lifetimes.ts'
import type { Db } from '../store/store.ts'
import type { Authorization } from '../store/tables/authorizations.ts'
import { saveAccessToken } from '../store/tables/bearer-tokens.ts'
import type { ClientRefusal } from '../store/tables/clients.ts'
import { saveRefreshToken } from '../store/tables/refresh-tokens.ts'

/** The tokens of a response, before they are written in its format. */
export interface IssuedTokens {
  accessToken: string
  accessExpiresMs: number
  /** Absent if the client keeps the refresh token that it has. */
  refreshToken?: string
  scope: string
  /** The user. Absent in tokens that an earlier version of the service stored for the grace period (`repeatSuccessor` in refresh.ts). */
  personId?: string
}

/**
 * The result of a code or refresh token inside its transaction. A refusal is a value and no error, because an error would roll the
 * transaction back, with the count of attempts at a code (`countAttempt`) and the revocation after a reuse. `reused`: a used code or
 * token was presented again. Its authorization is revoked (S-087).
 */
export type IssueResult =
  | { kind: 'issued'; tokens: IssuedTokens }
  | { kind: 'invalid' }
  | { kind: 'unapproved'; reason: ClientRefusal }
  | { kind: 'reused'; user: { personId: string; tenant: string } }

/**
 * How long an authorization lives, from its first tokens on. None of its refresh tokens lives longer, and rotation never extends it.
 * Public clients: `publicRefreshTokenMs`, 24 hours. Confidential clients: `confidentialRefreshTokenMs`, 30 days (S-051, A-26).
 */
export const absoluteLifeMs: Record<'public' | 'confidential', number> = {
  public: lifetimes.publicRefreshTokenMs,
  confidential: lifetimes.confidentialRefreshTokenMs,
}
/**
 * How long a refresh token lives without a use. Public clients: `publicRefreshTokenIdleMs`, 8 hours. Confidential: as long as the
 * authorization.
 */
const idleLifeMs: Record<'public' | 'confidential', number> = {
  public: lifetimes.publicRefreshTokenIdleMs,
  confidential: lifetimes.confidentialRefreshTokenMs,
}

/** Returns when a refresh token expires if it is not used. */
export function idleExpiry({ expiresMs }: Authorization, clientKind: 'public' | 'confidential', nowMs: number): number {
  return Math.min(expiresMs, nowMs + idleLifeMs[clientKind])
}

/**
 * Issues and stores an access token. It lives as long as the option `accessTokenLifeMs` says (default:
 * `lifetimeRanges.accessTokenLifeMs.standard` in lifetimes.ts, 10 minutes), but no longer than the authorization.
 */
export async function issueAccessToken(
  service: ServiceContext,
  { tx, authorization, permissions }: { tx: Db; authorization: Authorization; permissions: string[] },
): Promise<IssuedTokens> {
  // An expired authorization is deleted with its tokens, so none may live longer.
  const expiresMs = Math.min(authorization.expiresMs, service.clock.nowMs() + service.config.accessTokenLifeMs)
  const accessToken = await signAccessToken(service, { authorization, permissions, expiresMs })
  await saveAccessToken(tx, { hash: hashToken(accessToken), authorizationId: authorization.id, expiresMs })
  return { accessToken, accessExpiresMs: expiresMs, scope: authorization.scope, personId: authorization.personId }
}

/** Issues an access token and a refresh token, and stores their hashes. */
export async function issuePair(
  service: ServiceContext,
  issue: { tx: Db; authorization: Authorization; permissions: string[]; clientKind: 'public' | 'confidential' },
): Promise<IssuedTokens & { refreshToken: string }> {
  const issued = await issueAccessToken(service, issue)
  const refreshToken = randomToken('art_')
  await saveRefreshToken(issue.tx, {
    hash: hashToken(refreshToken),
    authorizationId: issue.authorization.id,
    idleExpiresMs: idleExpiry(issue.authorization, issue.clientKind, service.clock.nowMs()),
  })
  return { ...issued, refreshToken }
}

/**
 * Returns the members of a token response. `minimal` has only the two that the specification of the service names, without `token_type`
 * (A-27).
 */
export function tokenResponseBody(
  { config, clock }: ServiceContext,
  issued: IssuedTokens,
): Record<string, string | number> {
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
