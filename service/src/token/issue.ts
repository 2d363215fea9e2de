import type { ServiceContext } from '../context.ts'
import { signAccessToken } from '../credentials/access-tokens.ts'
import { hashToken, randomToken } from '../credentials/secrets.ts'
import type { Db } from '../store/store.ts'
import { saveAccessToken } from '../store/tables/access-tokens.ts'
import type { Authorization } from '../store/tables/authorizations.ts'
import { saveRefreshToken } from '../store/tables/refresh-tokens.ts'

/** What the client gets, and until when. */
export interface IssuedTokens {
  accessToken: string
  accessExpiresMs: number
  refreshToken?: string
  scope: string
}

/** A used code or token that came again. The journal gets an event once the revocation is committed (S-087). */
export interface Replay {
  replayOf: { personId: string; tenant: string }
}

const hourMs = 60 * 60_000
const dayMs = 24 * hourMs

/** Lives from the first issue; rotation never extends the absolute one (S-051, A-26). */
export const absoluteLifeMs: Record<'public' | 'confidential', number> = { public: dayMs, confidential: 30 * dayMs }
const idleLifeMs: Record<'public' | 'confidential', number> = { public: 8 * hourMs, confidential: 30 * dayMs }

export function idleExpiry({ expiresMs }: Authorization, kind: 'public' | 'confidential', nowMs: number): number {
  return Math.min(expiresMs, nowMs + idleLifeMs[kind])
}

export async function issueAccessToken(
  service: ServiceContext,
  { tx, authorization, permissions }: { tx: Db; authorization: Authorization; permissions: string[] },
): Promise<IssuedTokens> {
  // An expired authorization is deleted with its tokens, so none may live longer.
  const expiresMs = Math.min(authorization.expiresMs, service.clock.nowMs() + service.config.accessTokenLifeMs)
  const accessToken = signAccessToken(service, { authorization, permissions, expiresMs })
  await saveAccessToken(tx, { hash: hashToken(accessToken), authorizationId: authorization.id, expiresMs })
  return { accessToken, accessExpiresMs: expiresMs, scope: authorization.scope }
}

export async function issuePair(
  service: ServiceContext,
  issue: { tx: Db; authorization: Authorization; permissions: string[]; kind: 'public' | 'confidential' },
): Promise<IssuedTokens & { refreshToken: string }> {
  const issued = await issueAccessToken(service, issue)
  const refreshToken = randomToken('art_')
  await saveRefreshToken(issue.tx, {
    hash: hashToken(refreshToken),
    authorizationId: issue.authorization.id,
    idleExpiresMs: idleExpiry(issue.authorization, issue.kind, service.clock.nowMs()),
  })
  return { ...issued, refreshToken }
}

/** `minimal` is what the specification shows and nothing more. */
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
