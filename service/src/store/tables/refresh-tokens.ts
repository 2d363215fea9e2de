import type { Db } from '../database.ts'
import type { Slots } from '../engine/prepare.ts'
import { prepare } from '../engine/prepare.ts'
import type { Authorization } from './authorizations.ts'

export interface RefreshToken {
  /** The database has only the hash of a token. */
  hash: string
  idleExpiresMs: number
  usedMs: number | null
  successorHash: string | null
  /** The tokens that replaced this one, encrypted so that only the owner of this one can read them (S-049). */
  successorEncrypted: string | null
}

/** A refresh token with its authorization. It may have been used already, and its idle life may be over. */
export interface UnrevokedRefreshToken {
  token: RefreshToken
  authorization: Authorization
}

interface Presented {
  hash: string
  clientId: string
  nowMs: number
}

const unrevokedRefreshToken = prepare((db, { hash, clientId, nowMs }: Slots<Presented>) =>
  db
    .selectFrom('refresh_tokens as token')
    .innerJoin('grants', 'grants.id', 'token.grant_id')
    .select(['grants.id', 'grants.person_id', 'grants.tenant_id', 'grants.scope', 'grants.expires_ms'])
    .select(['token.idle_expires_ms', 'token.used_ms', 'token.successor_hash', 'token.successor_sealed'])
    .where('token.hash', '=', hash)
    .where('token.revoked_ms', 'is', null)
    .where('grants.client_id', '=', clientId)
    .where('grants.revoked_ms', 'is', null)
    .where('grants.expires_ms', '>', nowMs),
)

/**
 * Finds a refresh token of this client, used or not, unless it is revoked or its authorization is revoked or expired. The caller
 * (token/refresh.ts) compares `idleExpiresMs` with the time.
 */
export async function findUnrevokedRefreshToken(
  db: Db,
  presented: Presented,
): Promise<UnrevokedRefreshToken | undefined> {
  const row = await unrevokedRefreshToken.first(db, presented)
  if (row === undefined) return undefined
  const { hash, clientId } = presented
  return {
    token: {
      hash,
      idleExpiresMs: row.idle_expires_ms,
      usedMs: row.used_ms,
      successorHash: row.successor_hash,
      successorEncrypted: row.successor_sealed,
    },
    authorization: {
      id: row.id,
      clientId,
      personId: row.person_id,
      tenantId: row.tenant_id,
      scope: row.scope,
      expiresMs: row.expires_ms,
    },
  }
}

const refreshTokenUse = prepare((db, { hash }: Slots<{ hash: string }>) =>
  db.selectFrom('refresh_tokens').select('used_ms as usedMs').where('hash', '=', hash),
)

/** Reads whether a refresh token is used. `unknown` means that there is no such token. */
export async function findRefreshTokenUse(db: Db, hash: string): Promise<'used' | 'unused' | 'unknown'> {
  const row = await refreshTokenUse.first(db, { hash })
  if (row === undefined) return 'unknown'
  return row.usedMs === null ? 'unused' : 'used'
}

interface NewRefreshToken {
  hash: string
  authorizationId: string
  idleExpiresMs: number
}

const insertRefreshToken = prepare((db, { hash, authorizationId, idleExpiresMs }: Slots<NewRefreshToken>) =>
  db.insertInto('refresh_tokens').values({
    hash,
    grant_id: authorizationId,
    idle_expires_ms: idleExpiresMs,
    used_ms: null,
    revoked_ms: null,
    successor_hash: null,
    successor_sealed: null,
  }),
)

export async function saveRefreshToken(db: Db, token: NewRefreshToken): Promise<void> {
  await insertRefreshToken.run(db, token)
}

interface Rotation {
  hash: string
  usedMs: number
  successorHash: string
  successorEncrypted: string
}

const rotate = prepare((db, { hash, usedMs, successorHash, successorEncrypted }: Slots<Rotation>) =>
  db
    .updateTable('refresh_tokens')
    .set({ used_ms: usedMs, successor_hash: successorHash, successor_sealed: successorEncrypted })
    .where('hash', '=', hash),
)

export async function markRefreshTokenUsed(db: Db, rotation: Rotation): Promise<void> {
  await rotate.run(db, rotation)
}

const extend = prepare((db, { hash, idleExpiresMs }: Slots<{ hash: string; idleExpiresMs: number }>) =>
  db.updateTable('refresh_tokens').set({ idle_expires_ms: idleExpiresMs }).where('hash', '=', hash),
)

export async function extendIdleLife(db: Db, hash: string, idleExpiresMs: number): Promise<void> {
  await extend.run(db, { hash, idleExpiresMs })
}

const revokeAll = prepare((db, { nowMs }: Slots<{ nowMs: number }>) =>
  db.updateTable('refresh_tokens').set({ revoked_ms: nowMs }).where('revoked_ms', 'is', null),
)

/** Revokes every refresh token of the database. */
export async function revokeEveryRefreshToken(db: Db, nowMs: number): Promise<void> {
  await revokeAll.run(db, { nowMs })
}
