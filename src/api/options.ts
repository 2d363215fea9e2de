import { type Clock, systemClock } from '../internal/clock.ts'
import { checkNames, checkSignal, invalid, objectOf, ownMembers, present } from '../internal/values.ts'
import { checkApiUrl, checkServiceUrl } from '../service-url.ts'

/** How much of a success of the API is read if a call does not say, in bytes. A page has 250 rows of any size. */
const defaultMaxApiBytes = 33_554_432

/** How often a read of the API client is sent again if it does not say. Two retries outlast a restart of a server. */
const defaultMaxRetries = 2

/** How long a call of the API client may take if it does not say, in milliseconds. */
const defaultCallTimeoutMs = 30_000

/** What can be set for all calls, and again for one. */
export interface CallLimits {
  /**
   * How long a call may take, with its retries and the body of its response. In milliseconds. Default: 30,000
   * (`defaultCallTimeoutMs`, 30 s).
   */
  readonly timeoutMs?: number | undefined
  /** How often a read or a search is sent again at most, from 0 to 10. Default: 2 (`defaultMaxRetries`, 2). */
  readonly maxRetries?: number | undefined
  /** The largest body of a response in bytes, after decompression. Default: 33,554,432 (`defaultMaxApiBytes`, 32 MiB). */
  readonly maxBytes?: number | undefined
  /** Receives each response before its body is read. Take a `clone()` to read the body as well. */
  readonly onResponse?: ((response: Response) => void) | undefined
}

/** The options of `createAgentApi`. */
export interface AgentApiOptions extends CallLimits {
  /** The API host. An https URL, or http on loopback. */
  readonly baseUrl: string
  /** Host names that `baseUrl` may have with http, as in `createAuthConfig`. A browser refuses them. Default: none. */
  readonly allowHttpHosts?: readonly string[] | undefined
  /** Sends the requests with the bearer header: `createBearerFetch(…)`, `auth.fetch`, or the `fetch` of `useAuth()`. */
  readonly fetch: typeof fetch
  /** Where time is read. Default: the platform's clocks. */
  readonly clock?: Clock | undefined
}

/** The options of one call. */
export interface CallOptions extends CallLimits {
  /** Cancels the call, which then rejects with `aborted`. */
  readonly signal?: AbortSignal | null | undefined
  /** Members that the body gets besides those of the specification. They win over members of the same name. */
  readonly extraMembers?: Readonly<Record<string, unknown>> | undefined
}

/** The options of `searchAll`; the limits count for each page. */
export interface SearchAllOptions extends CallOptions {
  /** How many rows are yielded at most. Default: all. */
  readonly maxRows?: number | undefined
}

/** The options of `createAgentApi`, checked and complete. */
export interface ApiConfig extends CallLimits {
  readonly baseUrl: string
  readonly fetch: typeof fetch
  readonly clock: Clock
  readonly timeoutMs: number
  readonly maxRetries: number
  readonly maxBytes: number
}

/** The configuration of one call. */
export interface CallConfig extends ApiConfig {
  readonly extraMembers?: CallOptions['extraMembers']
}

type Given<T> = { [K in keyof T]: Exclude<T[K], undefined> }

const limitNames: readonly (keyof CallLimits)[] = ['timeoutMs', 'maxRetries', 'maxBytes', 'onResponse']
const apiNames: readonly (keyof AgentApiOptions)[] = ['baseUrl', 'fetch', 'allowHttpHosts', 'clock', ...limitNames]
const callNames: readonly (keyof CallOptions)[] = ['signal', 'extraMembers', ...limitNames]

/** Returns the frozen configuration, with a base URL that has no slash at its end. Throws `config_invalid`. */
export function createApiConfig(options: AgentApiOptions): ApiConfig {
  if (typeof ownMembers(options).fetch !== 'function')
    invalid('fetch is missing. Pass { baseUrl, fetch: createBearerFetch(…) }')
  const own = checkNames('createAgentApi', options, apiNames)
  const { baseUrl, fetch } = own
  const url = new URL(checkServiceUrl('baseUrl', baseUrl, own.allowHttpHosts))
  checkApiUrl(baseUrl)
  return checked({
    __proto__: null,
    clock: systemClock,
    timeoutMs: defaultCallTimeoutMs,
    maxRetries: defaultMaxRetries,
    maxBytes: defaultMaxApiBytes,
    ...present<Given<AgentApiOptions>>(own),
    fetch,
    baseUrl: url.href.replace(/\/+$/, ''),
  })
}

/** Returns the configuration with the limits of one call. Throws `config_invalid`. */
export function configOfCall(config: ApiConfig, options: CallOptions): CallConfig {
  const own = checkCall('an API call', options, callNames)
  return checked({ __proto__: null, ...config, ...present<Given<CallOptions>>(own) })
}

/** Returns a copy of the options of `searchAll`. Throws `config_invalid`. */
export function checkSearchAll(options: SearchAllOptions): SearchAllOptions {
  const own = checkCall('searchAll', options, ['maxRows', ...callNames])
  if (own.maxRows !== undefined && typeof own.maxRows !== 'number') invalid('maxRows must be a number')
  return own
}

function checkCall<T extends CallOptions>(caller: string, options: T, names: readonly string[]): T {
  const own = checkNames(caller, options, names)
  checkSignal(own.signal)
  if (own.extraMembers !== undefined && !objectOf(own.extraMembers)) invalid('extraMembers must be an object')
  return own
}

function checked<T extends ApiConfig>(config: T): T {
  const { timeoutMs, maxRetries, maxBytes, onResponse } = config
  if (onResponse && typeof onResponse !== 'function') invalid('onResponse must be a function')
  if ([timeoutMs, maxRetries, maxBytes].some((limit) => typeof limit !== 'number'))
    invalid('timeoutMs, maxRetries and maxBytes must be numbers')
  if (!(timeoutMs >= 1 && maxRetries >= 0 && maxRetries <= 10 && maxBytes >= 1))
    invalid('timeoutMs and maxBytes must be at least 1, maxRetries 0 to 10')
  return Object.freeze(config)
}
