import type { TokenClaims } from 'agent-auth'

/** The name of the user if the token has one, or else the id. The service has names with `tokenClaims: 'profile'`. */
export function userName(claims: TokenClaims | undefined): string {
  const name = claims?.claims.name
  return typeof name === 'string' ? name : (claims?.subject ?? '')
}
