/**
 * What a session's `getAccessToken` has for the bearer fetch, because a promise and the check of the options are a fifth of the cost of a
 * call. It is a member of the function, so that the bearer fetch calls the function that an app puts in its place.
 */
export interface InMemory {
  /** Returns the token that `getAccessToken()` would return without a wait. Returns undefined if that would wait, refresh or reject. */
  readonly tokenInMemory?: () => string | undefined
}
