import type { PendingLogin } from './authorize.ts'
import { present } from './internal/present.ts'
import { redacted } from './internal/redacted.ts'
import type { Tokens } from './tokens.ts'

declare const brand: unique symbol

/** A code whose callback was checked: only `readCallback` makes one, only `exchangeCode` opens it. */
export interface Grant {
  readonly [brand]: true
  /** Where the person wanted to go when the login started. */
  readonly returnTo?: string
}

export interface GrantContent {
  readonly pending: PendingLogin
  readonly code: string
  /** The one exchange of this grant, shared by all who ask. */
  exchange?: Promise<Tokens> | undefined
}

const contents = new WeakMap<Grant, GrantContent>()

export function sealGrant(content: GrantContent): Grant {
  const { returnTo } = content.pending
  const grant = redacted(present<{ returnTo?: string }>({ returnTo }) as Grant, 'Grant')
  contents.set(grant, content)
  return grant
}

export function openGrant(grant: Grant): GrantContent | undefined {
  return contents.get(grant)
}
