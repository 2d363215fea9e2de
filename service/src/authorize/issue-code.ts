import type { ServiceContext } from '../context.ts'
import { hashToken, randomToken } from '../credentials/secrets.ts'
import type { Db } from '../store/store.ts'
import type { Account } from '../store/tables/accounts.ts'
import { saveCode } from '../store/tables/codes.ts'
import type { AuthorizationRequest } from './authorization-request.ts'

interface Approved {
  db: Db
  clientId: string
  request: Pick<AuthorizationRequest, 'redirectUri' | 'codeChallenge' | 'scope'>
  account: Account
}

/**
 * Saves the hash of a code that is bound to everything that was checked when the request came (S-026), and returns the code. It
 * lives for `codeLifeMs` of the options (`codeLifeMs.standard`, 60 s).
 */
export async function issueCode({ clock, config }: ServiceContext, approved: Approved): Promise<string> {
  const { db, clientId, request, account } = approved
  const code = randomToken('aac_')
  await saveCode(db, {
    hash: hashToken(code),
    clientId,
    redirectUri: request.redirectUri,
    codeChallenge: request.codeChallenge,
    personId: account.id,
    tenantId: account.tenantId,
    scope: request.scope,
    expiresMs: clock.nowMs() + config.codeLifeMs,
  })
  return code
}
