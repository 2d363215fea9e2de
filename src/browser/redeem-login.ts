import { acceptCallback } from '../callback.ts'
import type { AuthConfig } from '../config.ts'
import { redeemGrant } from '../exchange.ts'
import type { Grant } from '../grant.ts'
import { abortedError } from '../internal/timeouts.ts'
import { loginRecords } from '../pending-logins.ts'
import type { Session } from '../session.ts'
import type { TokenStorage } from '../storage/token-storage.ts'
import type { Callback } from './finish-login.ts'

/** What a login needs to become a session. */
export interface LoginParts {
  readonly config: AuthConfig
  readonly session: Pick<Session, 'signIn'>
  readonly loginStorage: TokenStorage
}

/** Exchanges the code and signs the user in. Rejects with `aborted` if the signal fires before the tokens are here. */
export async function redeemLogin({ config, session }: LoginParts, grant: Grant, signal: AbortSignal): Promise<void> {
  const tokens = await redeemGrant(config, grant, signal)
  if (signal.aborted) throw abortedError()
  await session.signIn(tokens)
}

/** Checks a callback against its pending login, sets its grant, and signs the user in. */
export async function redeemCallback(parts: LoginParts, callback: Callback, signal: AbortSignal): Promise<void> {
  const { loginStorage, config } = parts
  const { address } = callback
  callback.grant ??= acceptCallback(
    await loginRecords(loginStorage, config.clock).take(address),
    address,
    config.clock.wallMs(),
  )
  if (!signal.aborted) await redeemLogin(parts, callback.grant, signal)
}
