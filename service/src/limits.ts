// The time-outs, sizes, counts and lives of the service, each with its unit and its reason. A message that names one is built from it.
// ASSUMPTIONS.md states the same figures.

/** What one caller may use. `agent-service --help` and the README name the same figures. */
export const limits = {
  /** A search may read all of them, and no endpoint removes an agent. */
  agentsPerTenant: 10_000,
  /** Code points. Searches read every description, and a page of results has up to 250 of them. */
  descriptionCharacters: 4_000,
  /** Code points. A name has 500, and NFC can make the name and its key three times as long. */
  filterCharacters: 1_500,
  /** Calls of one tenant in progress, so that those of others take at most a tenth of a second beside its searches. */
  tenantCallsAtOnce: 2,
  /** Calls of one tenant that wait for these. */
  tenantCallsWaiting: 500,
  /** 8 MiB: a page of 250 rows of ordinary text is smaller. */
  responseBytes: 8_388_608,
  /** Open authorization requests of one sign-in session. Before a sign-in the page carries its request. */
  requestsPerSession: 20,
  /** Open connections of each of the two hosts. */
  connections: 2_000,
  /** A connection is closed if its client receives nothing of a response for this time. */
  stalledResponseMs: 20_000,
} as const

/** Request bodies of the API, and responses to invalid ones. */
export const apiLimits = {
  /** 256 KiB: an agent with the longest texts, written as escapes, is smaller. */
  bodyBytes: 262_144,
  /** Items of a 422, so that it stays small. */
  validationItems: 100,
  /** Code units of a rejected text in a 422. Code points of a name, as it was sent, and of a search value. */
  shownInput: 200,
  nameCharacters: 500,
  searchCharacters: 256,
  /** Rows of a page, how many there are without `limit`, and the largest offset that both databases take. */
  pageRows: 250,
  defaultPageRows: 100,
  offset: 2_147_483_647,
  /** Filters and groups of a search, levels of groups, and columns of a sort order. */
  filterNodes: 50,
  filterDepth: 3,
  sortColumns: 10,
  /** After this time a call of a busy tenant may come again. */
  retryAfterMs: 1_000,
} as const

/** Waits and sizes of the database. */
export const storeLimits = {
  /** Another process locks the data file for milliseconds. A longer wait would block every request of this one. */
  busyMs: 2_000,
  /** Connections of one process to PostgreSQL, of the 100 that a server has by default. */
  connections: 10,
  /** Waits for PostgreSQL end with a 503, because a request must not wait without end. */
  connectMs: 5_000,
  lockWaitMs: 3_000,
  statementMs: 10_000,
  /** A process that stops in a transaction gives its locks back after this time. */
  idleTransactionMs: 10_000,
  /** A transaction that lost to another runs again. The fourth loss in a row is reported. */
  transactionAttempts: 4,
  /** How long a process waits for another one that migrates the same data, and when it looks again. */
  migrationMs: 5_000,
  migrationPauseMs: 100,
  /** Prepared statements of SQLite: each shape of a filter is one. Symbolic links that Linux follows in one path. */
  preparedStatements: 200,
  symbolicLinks: 40,
  /** Rows that one statement of a purge deletes: more could exceed `statementMs` each time. Statements of one purge. */
  purgedRows: 1_000,
  purgeStatements: 40,
  /** Requests that a new authorization request deletes at most. Changes of the client registry in a list. */
  deletedRequests: 1_000,
  registryChanges: 100,
} as const

/** Connections and requests of both hosts. */
export const serverLimits = {
  /** Until the headers are complete, and until the body is; how often that is checked; 16 KiB of headers. */
  headersMs: 10_000,
  requestMs: 30_000,
  checkMs: 2_000,
  headerBytes: 16_384,
  /** For responses in progress at a stop. Retry-After of a start, and of a database that is away. */
  drainMs: 8_000,
  retryAfterMs: 1_000,
  /** How long a browser may keep the response to a CORS preflight. The pause between two purges of expired data. */
  preflightMs: 600_000,
  purgePauseMs: 60_000,
  /** Entries of the journal and characters of a path. It removes entries in blocks, so that each costs the same. */
  journalEntries: 10_000,
  journalPathCharacters: 200,
  journalBlock: 1_000,
} as const

/** Authorization requests, forms of pages, the client registry and the token endpoint. */
export const requestLimits = {
  /** 16 KiB; 32 KiB for a form with an authorization request, or with ten redirect URIs. */
  formBytes: 16_384,
  longFormBytes: 32_768,
  /** 16 KiB: a token request. */
  tokenBytes: 16_384,
  /** Bytes of `state`; parameters of a query, as 7,500 take 14 ms. Redirect URIs of a client, their characters. */
  stateBytes: 2_048,
  queryParameters: 100,
  redirectUris: 10,
  redirectUriCharacters: 2_048,
  shownRedirectUriCharacters: 200,
  /** Clients of a tenant: the pages list all of them, and no client is removed. */
  clientsPerTenant: 1_000,
  /** Code points of a client's name. Its secrets: one in use and one that replaces it. Tries of a code. */
  clientNameCharacters: 100,
  clientSecrets: 2,
  codeAttempts: 5,
} as const

/** Passwords, and attempts to sign in. */
export const credentialLimits = {
  /** Characters of a password. */
  passwordCharacters: 1_024,
  leastPasswordCharacters: 8,
  /** Attempts that wait for others, some seconds of hashing. */
  hashesWaiting: 32,
  hashRetryMs: 5_000,
  /** Keys that failed. */
  failedKeys: 100_000,
  /** After this time an attempt beside another one may come again. */
  attemptRetryMs: 1_000,
  /** Accounts that one browser is known for. */
  deviceAccounts: 5,
} as const

/** The dev controls, the clock and the command. */
export const toolLimits = {
  /** 16 KiB: a JSON body of the dev controls. The longest delay of a fault. */
  devBodyBytes: 16_384,
  faultDelayMs: 60_000,
  /** The end of the year 9999: a later time has no four-digit year, and from 275760 on no date. */
  clockMs: 253_402_300_799_999,
  /** Responses in progress have eight seconds. Operators are told ten. */
  stopMs: 9_500,
} as const

/** Range and default of the option `trustedProxies`. */
export const trustedProxies = { least: 0, most: 10, standard: 0 } as const

/** The ports of the command, and of the origins of a service without ports. */
export const defaultPorts = { auth: 4_001, base: 4_002 } as const

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
  /** Refresh tokens of public clients: a day in all, eight hours unused. Of confidential ones: 30 days. */
  publicRefreshTokenMs: 86_400_000,
  publicRefreshTokenIdleMs: 28_800_000,
  confidentialRefreshTokenMs: 2_592_000_000,
  /** 400 days, the longest life of a cookie that browsers allow. */
  deviceCookieMs: 34_560_000_000,
} as const

/** Sizes of seeds. ASSUMPTIONS.md states the same figures. */
export const seedLimits = {
  /** 32 MiB: the export of 10,000 agents has a third of it. 4 MiB of YAML, which takes a hundred times as long to parse. */
  fileBytes: 33_554_432,
  yamlBytes: 4_194_304,
  /** Values that aliases of a YAML seed may repeat. */
  aliases: 100_000,
  /** Characters of a client secret: 32 random ones cannot be guessed. */
  leastSecretCharacters: 32,
  secretCharacters: 256,
} as const
