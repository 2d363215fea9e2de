import { limits, storeLimits } from '../../limits.ts'
import type { Db } from '../database.ts'
import { rawDatabase } from '../database.ts'
import type { Slots } from '../engine/prepare.ts'
import { prepare } from '../engine/prepare.ts'
import type { Flag } from '../schema.ts'

/** An authorization request that was not decided. */
export interface AuthorizationRequestRow {
  idHash: string
  browserHash: string
  clientId: string
  redirectUri: string
  scope: string
  /** Percent-encoded, so that every byte comes back as it was sent. */
  state: string | null
  codeChallenge: string | null
  /** The error to send back once the user is signed in (S-004). */
  refusal: string | null
  /** The sign-in session that was asked for consent, if one was. */
  sessionHash: string | null
  expiresMs: number
  /** 1 if the request came with the form of a sign-in page. A browser can submit that form again after the decision. */
  carried: Flag
}

const insertRequest = prepare((db, request: Slots<AuthorizationRequestRow>) =>
  db
    .insertInto('authorization_requests')
    .values({
      id_hash: request.idHash,
      browser_hash: request.browserHash,
      client_id: request.clientId,
      redirect_uri: request.redirectUri,
      scope: request.scope,
      state: request.state,
      code_challenge: request.codeChallenge,
      refusal: request.refusal,
      session_hash: request.sessionHash,
      consent_hash: null,
      expires_ms: request.expiresMs,
      decided_ms: null,
      carried: request.carried,
    })
    // A browser can submit the same sign-in form twice. If the request was decided in between, its row stays as it is.
    .onConflict((conflict) => conflict.column('id_hash').doNothing()),
)

export async function saveRequest(db: Db, request: AuthorizationRequestRow): Promise<void> {
  await insertRequest.run(db, request)
}

interface OldRequests {
  sessionHash: string
  keptIdHash: string
}

const deleteOld = prepare((db, { sessionHash, keptIdHash }: Slots<OldRequests>) =>
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
        .limit(storeLimits.deletedRequests)
        .offset(limits.requestsPerSession),
    ),
)

/**
 * Keeps the newest open requests of one sign-in session (`requestsPerSession`, 20) and the request `keptIdHash`, and deletes the next
 * older ones (`deletedRequests`, 1,000 at most in one call).
 */
export async function deleteOldRequests(db: Db, old: OldRequests): Promise<void> {
  await deleteOld.run(db, old)
}

interface Asked {
  idHash: string
  browserHash: string
  nowMs: number
}

const openRequest = prepare((db, { idHash, browserHash, nowMs }: Slots<Asked>) =>
  db
    .selectFrom('authorization_requests')
    .select([
      'id_hash as idHash',
      'browser_hash as browserHash',
      'client_id as clientId',
      'redirect_uri as redirectUri',
    ])
    .select(['scope', 'state', 'code_challenge as codeChallenge', 'refusal', 'session_hash as sessionHash'])
    .select(['expires_ms as expiresMs', 'carried'])
    .where('id_hash', '=', idHash)
    .where('browser_hash', '=', browserHash)
    .where('decided_ms', 'is', null)
    .where('expires_ms', '>', nowMs),
)

/** Finds an undecided request of this browser. */
export async function findOpenRequest(db: Db, asked: Asked): Promise<AuthorizationRequestRow | undefined> {
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
    .where('id_hash', '=', idHash)
    .where('decided_ms', 'is', null),
)

/** Ties the request to a sign-in session and to the one token that its consent form carries, unless it was decided. */
export async function bindConsent(db: Db, consent: Consent): Promise<'bound' | 'decided'> {
  return (await bind.run(db, consent)) === 1 ? 'bound' : 'decided'
}

/** The columns that a decision erases. If a sign-in page carries the request, the rest of its row shows that it was decided. */
const blank = { redirect_uri: '', scope: '', state: null, code_challenge: null, session_hash: null, consent_hash: null }

const decide = prepare((db, { idHash, sessionHash, consentHash, nowMs }: Slots<Consent & { nowMs: number }>) =>
  db
    .updateTable('authorization_requests')
    .set({ ...blank, decided_ms: nowMs })
    .where('id_hash', '=', idHash)
    .where('session_hash', '=', sessionHash)
    .where('consent_hash', '=', consentHash)
    .where('decided_ms', 'is', null)
    .where('expires_ms', '>', nowMs),
)

const deleteUncarried = prepare((db, { idHash }: Slots<{ idHash: string }>) =>
  db.deleteFrom('authorization_requests').where('id_hash', '=', idHash).where('carried', '=', 0),
)

/**
 * Decides the request once: of several decisions only the first finds it open (S-014). Takes an open transaction. The
 * row is deleted, unless a sign-in page carries the request and could have it stored and decided again.
 */
export async function decideRequest(tx: Db, consent: Consent & { nowMs: number }): Promise<'decided' | 'refused'> {
  if ((await decide.run(tx, consent)) !== 1) return 'refused'
  await deleteUncarried.run(tx, consent)
  return 'decided'
}

/** Ends a request that was answered with an error before the user was asked. */
export async function closeRequest(tx: Db, idHash: string, nowMs: number): Promise<void> {
  const closed = { ...blank, decided_ms: nowMs }
  await rawDatabase(tx).updateTable('authorization_requests').set(closed).where('id_hash', '=', idHash).execute()
  await deleteUncarried.run(tx, { idHash })
}
