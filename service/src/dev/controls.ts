import type { ServiceContext } from '../context.ts'
import { hashToken, randomToken } from '../credentials/secrets.ts'
import { firstNames } from '../issue-text.ts'
import { lifetimes } from '../lifetimes.ts'
import { fillDatabase } from '../seed/fill-database.ts'
import type { World } from '../seed/world.ts'
import type { DevControls } from '../service.ts'
import { transact } from '../store/engine/transact.ts'
import type { Db } from '../store/store.ts'
import { findAccountByEmail, listAccounts } from '../store/tables/accounts.ts'
import { expireEveryAccessToken, saveSessionToken } from '../store/tables/bearer-tokens.ts'
import { revokeEveryRefreshToken } from '../store/tables/refresh-tokens.ts'
import { readFaultRule } from './fault-rule.ts'
import { applyEndpointBilling, setAccess } from './set-access.ts'

/** Returns the message about an email address that no account has. */
export function unknownAccountText(emails: readonly string[]): string {
  return `no account has this email address; there are ${firstNames(emails)}`
}

/** Makes the dev controls. A user session token, which only they issue, lives `sessionTokenMs`, 12 hours. */
export function createDevControls(service: ServiceContext, world: () => World): Omit<DevControls, 'autoApprove'> {
  const { clock, store, journal, logins, throttles, faults, autoApproval, endpointBilling, config } = service
  /** Locks first, because an update does not see the rows that a refresh or a redemption inserts at the same time. */
  function onEveryAuthorization(change: (tx: Db) => Promise<void>): Promise<void> {
    const locked = async (tx: Db): Promise<void> => {
      await store.lockAuthorizations(tx)
      await change(tx)
    }
    return transact(store.db, locked, 'after-lock-timeout')
  }
  return {
    nowMs: () => clock.nowMs(),
    advance: (ms) => clock.advance(ms),
    freeze: () => clock.freeze(),
    unfreeze: () => clock.unfreeze(),
    clockState: () => clock.state(),
    expireAccessTokens: () => onEveryAuthorization((tx) => expireEveryAccessToken(tx, clock.nowMs())),
    revokeRefreshTokens: () => onEveryAuthorization((tx) => revokeEveryRefreshToken(tx, clock.nowMs())),
    async mintSessionToken(email) {
      const account = await findAccountByEmail(store.db, email)
      if (account === undefined) {
        const emails = (await listAccounts(store.db)).map((one) => one.email)
        throw new Error(unknownAccountText(emails))
      }
      const token = randomToken('ast_')
      const expiresMs = clock.nowMs() + lifetimes.sessionTokenMs
      await saveSessionToken(store.db, { hash: hashToken(token), personId: account.id, expiresMs })
      return token
    },
    journal: () => journal.entries(),
    addFault: (rule) => {
      faults.add(readFaultRule(rule))
    },
    clearFaults: () => faults.clear(),
    faults: () => faults.list(),
    setAccess: (change) => setAccess(service, change),
    autoApproved: () => autoApproval.email(),
    // Everything that is stored or remembered, also sign-ins, tokens and throttles. The clock stays where it is.
    async reset() {
      await fillDatabase(service, world(), 'replace')
      journal.clear()
      logins.clear()
      faults.clear()
      autoApproval.set(undefined)
      endpointBilling.clear()
      await applyEndpointBilling(service)
      await setAccess(service, config.access)
      for (const throttle of Object.values(throttles)) throttle.clear()
    },
  }
}
