import type { Selectable } from 'kysely'
import { limits } from '../../limits.ts'
import type { Slots } from '../engine/prepare.ts'
import { prepare } from '../engine/prepare.ts'
import type { AuthorizationRequestTable } from '../schema.ts'
import type { Db } from '../store.ts'

export type AuthorizationRequest = Selectable<AuthorizationRequestTable>

/** A request that nobody finishes is dropped after ten minutes. */
export const requestLifeMs: number = 10 * 60_000
const mostDroppedAtOnce = 1_000

const insertRequest = prepare((db, request: Slots<AuthorizationRequest>) =>
  db
    .insertInto('authorization_requests')
    .values({
      id_hash: request.id_hash,
      browser_hash: request.browser_hash,
      client_id: request.client_id,
      redirect_uri: request.redirect_uri,
      scope: request.scope,
      state: request.state,
      code_challenge: request.code_challenge,
      refusal: request.refusal,
      session_hash: request.session_hash,
      consent_hash: request.consent_hash,
      expires_ms: request.expires_ms,
      decided_ms: request.decided_ms,
    })
    // A sign-in page can be sent twice; what was decided meanwhile stays decided.
    .onConflict((conflict) => conflict.column('id_hash').doNothing()),
)

export async function saveRequest(db: Db, request: AuthorizationRequest): Promise<void> {
  await insertRequest.run(db, request)
}

interface OldRequests {
  sessionHash: string
  keptIdHash: string
}

const dropOld = prepare((db, { sessionHash, keptIdHash }: Slots<OldRequests>) =>
  db
    .deleteFrom('authorization_requests')
    .where('session_hash', '=', sessionHash)
    .where('id_hash', '!=', keptIdHash)
    .where('id_hash', 'in', (old) =>
      old
        .selectFrom('authorization_requests')
        .select('id_hash')
        .where('session_hash', '=', sessionHash)
        .where('decided_ms', 'is', null)
        .orderBy('expires_ms', 'desc')
        .limit(mostDroppedAtOnce)
        .offset(limits.requestsPerSession),
    ),
)

/**
 * Keeps the newest requests of one sign-in session, this one among them, and those that were decided: the sign-in page
 * still carries such a request, and it would be stored and decided again.
 */
export async function dropOldRequests(db: Db, old: OldRequests): Promise<void> {
  await dropOld.run(db, old)
}

interface Asked {
  idHash: string
  browserHash: string
  nowMs: number
}

const openRequest = prepare((db, { idHash, browserHash, nowMs }: Slots<Asked>) =>
  db
    .selectFrom('authorization_requests')
    .selectAll()
    .where('id_hash', '=', idHash)
    .where('browser_hash', '=', browserHash)
    .where('decided_ms', 'is', null)
    .where('expires_ms', '>', nowMs),
)

/** An undecided request of this browser. */
export async function findOpenRequest(db: Db, asked: Asked): Promise<AuthorizationRequest | undefined> {
  return openRequest.first(db, asked)
}

interface Consent {
  idHash: string
  sessionHash: string
  consentHash: string
}

const bind = prepare((db, { idHash, sessionHash, consentHash }: Slots<Consent>) =>
  db
    .updateTable('authorization_requests')
    .set({ session_hash: sessionHash, consent_hash: consentHash })
    .where('id_hash', '=', idHash),
)

/** Ties the request to a signed-in session and to the one token that its consent form carries. */
export async function bindConsent(db: Db, consent: Consent): Promise<void> {
  await bind.run(db, consent)
}

const decide = prepare((db, { idHash, sessionHash, consentHash, nowMs }: Slots<Consent & { nowMs: number }>) =>
  db
    .updateTable('authorization_requests')
    .set({ decided_ms: nowMs })
    .where('id_hash', '=', idHash)
    .where('session_hash', '=', sessionHash)
    .where('consent_hash', '=', consentHash)
    .where('decided_ms', 'is', null)
    .where('expires_ms', '>', nowMs),
)

/** Decides the request once; of several answers only the first finds it undecided (S-014). */
export async function decideRequest(db: Db, consent: Consent & { nowMs: number }): Promise<'decided' | 'refused'> {
  return (await decide.run(db, consent)) === 1 ? 'decided' : 'refused'
}

/** Ends a request that was answered with an error before anybody was asked. */
export async function closeRequest(db: Db, idHash: string, nowMs: number): Promise<void> {
  await db.updateTable('authorization_requests').set({ decided_ms: nowMs }).where('id_hash', '=', idHash).execute()
}
