import type { PendingLogin } from './authorize.ts'
import { ownMembers, present, redacted } from './internal/values.ts'
import type { Tokens } from './tokens.ts'

declare const brand: unique symbol

/** A code whose callback was checked. Only `readCallback` creates one, and only `exchangeCode` reads it. */
export interface Grant {
  readonly [brand]: true
  /** The return URL of the login. */
  readonly returnTo?: string
}

export interface GrantContent {
  readonly pending: PendingLogin
  /** What `validateAuthResponse` returned, which alone can be exchanged. */
  readonly parameters: URLSearchParams
  /** The one exchange of this grant. All calls share it. */
  exchange?: Promise<Tokens> | undefined
  /** How many calls wait for the exchange. */
  waiting: number
}

const contents = new WeakMap<Grant, GrantContent>()

export function createGrant(content: GrantContent): Grant {
  const { returnTo } = content.pending
  const grant = redacted(ownMembers(present<{ returnTo?: string }>({ returnTo }) as Grant), 'Grant')
  contents.set(grant, content)
  return grant
}

/** Returns the content of a Grant that `createGrant` made, and undefined for any other value. */
export function grantContent(grant: Grant): GrantContent | undefined {
  return contents.get(grant)
}
