// Every time-out, size and count of the library, with its unit and its reason. Code and messages take the numbers from here.

/** How many URLs a bearer fetch remembers for each base. Requests repeat, and an app has a few dozen endpoints. */
export const maxRememberedUrls = 64

/** How long a remembered URL may be, in characters, because a query can hold a whole document. */
export const maxRememberedUrlLength = 2_048

/** How much of a token response is read, in bytes after decompression. Two tokens of the greatest length fit. */
export const maxTokenResponseBytes = 262_144

/** The longest wait that `Retry-After` can ask for, in milliseconds, so that a wrong header does not stop an app for a day. */
export const maxRetryAfterMs = 300_000

/** How often a path is decoded in the search for `..`. A path that still has encoded bytes after that gets no token. */
export const maxPathDecodings = 4

/** How much of a body is kept for the second request after a 401, in bytes. */
export const maxReplayBytes = 1_048_576

/** The longest `WWW-Authenticate` header that is parsed, in characters, because a server controls it. */
export const maxChallengeLength = 8_192
