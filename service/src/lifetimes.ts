// The lives of tokens, codes, authorization requests, sign-ins and the device cookie. ASSUMPTIONS.md states the same figures.

/** Lives that an option of `createService` sets: the range and the default of each. */
export const lifetimeRanges = {
  /** One second, because tests want expiry without a moved clock. */
  accessTokenLifeMs: { least: 1_000, most: 3_600_000, standard: 600_000 },
  codeLifeMs: { least: 1_000, most: 600_000, standard: 60_000 },
  /** For this time a used refresh token gives the same successor again. */
  graceMs: { least: 0, most: 600_000, standard: 30_000 },
} as const

/** How long logins, sign-ins, user session tokens and refresh tokens live. No option changes these. */
export const lifetimes = {
  /** Ten minutes. After them an authorization request that is not finished is invalid. */
  authorizationRequestMs: 600_000,
  /** Half an hour without a request and twelve hours in all, for a sign-in on the pages. */
  signInIdleMs: 1_800_000,
  signInMs: 43_200_000,
  /** Twelve hours, for a user session token, which only the dev controls issue. */
  sessionTokenMs: 43_200_000,
  /** Refresh tokens of public clients: a day in all, eight hours unused. Of confidential ones: 30 days (S-051, A-26). */
  publicRefreshTokenMs: 86_400_000,
  publicRefreshTokenIdleMs: 28_800_000,
  confidentialRefreshTokenMs: 2_592_000_000,
  /** 400 days, the longest life of a cookie that browsers allow. */
  deviceCookieMs: 34_560_000_000,
} as const
