// Every time-out of this entry, with its unit and its reason.

/** How long a login on loopback, also that of `agent-auth login`, may take by default, in milliseconds, as for a popup. */
export const defaultLoopbackMs = 300_000
/**
 * How long after the opening of the browser the URL is printed if no callback came, in milliseconds. Programs that open a browser may
 * fail late or without a notice.
 */
export const browserWaitMs = 3_000
/** How long the port stays open for the last page after the tokens are there, in milliseconds. */
export const lastPageMs = 2_000
/**
 * Within this time, in milliseconds, a process that replaces a file is done, unless it was killed or paused. It takes a few
 * milliseconds.
 */
export const staleFileMs = 1_500
/** How long a process tries to replace a file, in milliseconds: less than `databaseTimeoutMs`, and more than `staleFileMs`. */
export const maxFileWaitMs = 2_500
/** The longest wait between two tries to replace a file, in milliseconds. */
export const maxFilePauseMs = 20
