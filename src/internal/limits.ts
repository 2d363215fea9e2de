// The time-outs, sizes and counts of core, pages and backend, with unit and reason. node/limits.ts has those of Node and the command.

// In a page.

/** How many logins without a click may fail within `automaticLoginWindowMs`, because a third one would be a redirect loop. */
export const maxAutomaticLogins = 2
/** How long a login without a click counts, in milliseconds. */
export const automaticLoginWindowMs = 300_000
/** Within this time, in milliseconds, the logins of one page have one cause, such as an effect that StrictMode runs twice. */
export const sameCauseMs = 5_000
/** How long a login must last to count as a success, in milliseconds. A page in a redirect loop loses it sooner. */
export const minLoginLifeMs = 5_000
/** How long a page may take to release its tab to a reload, in milliseconds. Less than the first read may take, so that it still follows. */
export const tabReleaseMs = 3_000
/** The default of how long a popup login may take, in milliseconds: as long as a user may need for a password manager. */
export const defaultPopupMs = 300_000
/** How often a page checks whether its popup was closed, in milliseconds. */
export const popupCheckMs = 250
/** How long a popup waits for the page that opened it, in milliseconds. */
export const maxHandOverMs = 3_000
/** How long a popup that hands over its callback shows nothing, in milliseconds. The browser closes it sooner. */
export const popupCloseMs = 1_000

// Requests and token responses.

/** The longest wait that `Retry-After` can ask for, in milliseconds, so that a wrong header does not stop an app for a day. */
export const maxRetryAfterMs = 300_000

// The session.

/** How long an asynchronous storage is not read again while a session has tokens, in milliseconds. */
export const revalidateAfterMs = 1_000
/** How long one storage operation of a session may take, and the release of a lock, in milliseconds. */
export const maxStorageOperationMs = 5_000
/** How long a login may take from `startLogin` to its callback, in milliseconds. A sign-in with two factors takes minutes. */
export const maxLoginMs = 600_000
/** Time limits of one token request, in milliseconds. Users do not wait for more than a minute. */
export const defaultTimeoutMs = 10_000
export const maxTimeoutMs = 60_000
/** Waits after failures, in milliseconds: the first one, and the longest one after doubling. */
export const firstBackoffMs = 500
export const maxBackoffMs = 30_000
/** The longest wait of a platform timer, in milliseconds. A longer one would fire at once. */
export const maxTimerMs = 2_147_483_647

// Storages.

/** The length of an encryption key in bytes, for AES-256. */
export const encryptionKeyBytes = 32
/** Time limit of one database operation, in milliseconds. A call reads the record and asks for the lock, and must fail within 6 s. */
export const databaseTimeoutMs = 2_750
/** How long a lease lasts, in milliseconds. Others wait so long for a lock owner that crashed; two renewals can be lost before. */
export const leaseMs = 8_000
/** How often a lease is renewed, in milliseconds. */
export const leaseRenewalMs = 2_000
/** How long a lock owner renews its lease, in milliseconds. A task that takes longer than any refresh hangs. */
export const maxLockMs = 90_000
/** Waits between two requests for a lease, in milliseconds: the first one, and the longest one after doubling. */
export const firstLeasePauseMs = 10
export const maxLeasePauseMs = 250
/** How often a write to Redis is repeated while a Cluster moves its slot, and for how long, in milliseconds: less than the time limit. */
export const slotMoveLimits = { pauseMs: 50, maxWaitMs: 2_500 } as const
/** How often PostgreSQL is asked to remove expired records, in milliseconds. Expired records are never read. */
export const sweepEveryMs = 60_000
/** How many expired records one statement removes, so that it ends soon. */
export const maxSweptRecords = 1_000
/** How often a statement of PostgreSQL is repeated after it lost a race. */
export const maxStatementRepeats = 5
/** The longest name of a table in characters. PostgreSQL cuts a name at 63, and the name of the index needs the rest. */
export const maxTableNameLength = 50

// The API client.

/** How long a call of the API client may take if it does not say, in milliseconds. */
export const defaultCallTimeoutMs = 30_000
/** How often a read of the API client is sent again if it does not say. Two retries outlast a restart of a server. */
export const defaultMaxRetries = 2
/** How much of a success of the API is read if a call does not say, in bytes. A page has 250 rows of any size. */
export const defaultMaxApiBytes = 33_554_432
/** How much of a refusal of the API is read, in bytes. It explains a failure, and nothing more depends on it. */
export const maxRefusalBytes = 1_048_576
/** The rows of a page at most. Specification section 8. */
export const maxPageRows = 250
