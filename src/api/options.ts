import { type Clock, systemClock } from '../internal/clock.ts'
import { checkNames, checkSignal, invalid, objectOf, ownMembers, present } from '../internal/values.ts'
import { checkApiUrl, checkServiceUrl } from '../service-url.ts'

/** What can be set for all calls, and again for one. */
export interface CallLimits {
  /** How long a call may take, with its retries and the body of its response. In milliseconds. Default: 30,000. */
  readonly timeoutMs?: number | undefined
  /** How often a read or a search is sent again at most, from 0 to 10. Default: 2. */
  readonly maxRetries?: number | undefined
  /** The largest body of a response in bytes, after decompression. Default: 33,554,432 (32 MiB). */
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

type Given<T> = { [K in keyof T]: Exclude<T[K], undefined> }

/** The options of `createAgentApi`, checked and complete. */
export type ApiConfig = Given<Required<Omit<AgentApiOptions, 'allowHttpHosts' | 'onResponse'>>> &
  Pick<CallLimits, 'onResponse'>

/** The configuration of one call. */
export type CallConfig = ApiConfig & Pick<CallOptions, 'extraMembers'>

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
    timeoutMs: 30_000,
    // Two retries outlast a restart of a server.
    maxRetries: 2,
    // A page has 250 rows of any size.
    maxBytes: 33_554_432,
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
  const isNumber = (value: number, least: number): boolean => typeof value === 'number' && value >= least
  if (!(isNumber(timeoutMs, 1) && isNumber(maxBytes, 1) && isNumber(maxRetries, 0) && maxRetries <= 10))
    invalid('timeoutMs and maxBytes must be numbers from 1, maxRetries a number from 0 to 10')
  return Object.freeze(config)
}
