import { transact } from './engine/transact.ts'
import type { Store } from './store.ts'
import { findAccountByEmail, savePasswordHash } from './tables/accounts.ts'
import { endAccess, voidCodes } from './tables/end-access.ts'

interface NewPassword {
  email: string
  passwordHash: string
  nowMs: number
}

/**
 * Sets the password of a user and ends what the user signed in to, in one transaction: sign-ins on the pages, codes, and the tokens
 * of all applications. If another transaction is adding one of these, this one waits for its commit, and then ends what was added as well.
 */
export function replacePassword(
  store: Store,
  { email, passwordHash, nowMs }: NewPassword,
): Promise<'done' | 'unknown'> {
  return transact(
    store.db,
    async (tx) => {
      const account = await findAccountByEmail(tx, email)
      if (account === undefined) return 'unknown'
      // First, so that no session can be added or used to get another code.
      await store.lockSignIns(tx)
      // Codes before authorizations, the order in which a code exchange locks them.
      await voidCodes(tx, account.id)
      await store.lockAuthorizations(tx)
      await savePasswordHash(tx, account.id, { passwordHash })
      await endAccess(tx, account.id, nowMs)
      return 'done'
    },
    'after-lock-timeout',
  )
}
