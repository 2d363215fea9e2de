/** How long an asynchronous storage is not read again while a session has tokens, in milliseconds. */
export const revalidateAfterMs = 1_000
/** How long a login may take from `startLogin` to its callback, in milliseconds. A sign-in with two factors takes minutes. */
export const maxLoginMs = 600_000
/** Time limits of one token request, in milliseconds. Users do not wait for more than a minute. */
export const defaultTimeoutMs = 10_000
export const maxTimeoutMs = 60_000
/** Time limit of one database operation, in milliseconds. A call reads the record and asks for the lock, and must fail within 6 s. */
export const databaseTimeoutMs = 2_750
/** How much of a refusal is read, in bytes. It explains a failure, and nothing more depends on it. */
export const maxRefusalBytes = 1_048_576
