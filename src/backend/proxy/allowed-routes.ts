import { attempt, checkNames, invalid } from '../../internal/values.ts'

const mebibyte = 1_048_576
const [maxBytes, defaultBytes] = [1_024 * mebibyte, mebibyte]
const [minTimeoutMs, maxTimeoutMs, defaultTimeoutMs] = [100, 600_000, 30_000]

/** A route of the option `proxy` with limits of its own. */
export interface ProxyRouteOptions {
  /** Names the method and path: `METHOD /path/:param`. */
  route: string
  /** Limits the request body. Bytes, at most 1 GiB. Default: 1 MiB. */
  maxBodyBytes?: number | undefined
  /** Limits how long the response may take to begin, and how long the API may send nothing within it. Milliseconds, 100 to 600,000. Default: 30,000. */
  timeoutMs?: number | undefined
  /** Names the query parameters that may be sent. The proxy encodes the query again. Default: the query passes unchanged. */
  query?: readonly string[] | undefined
}

/** One route of the API that pages may call through the backend. */
export type ProxyRoute = ReturnType<typeof proxyRoutes>[number]

const template = /^(GET|HEAD|POST|PUT|PATCH|DELETE) ((?:\/(?::\w+|[\w~-][\w.~-]*))+)$/

const optionNames: readonly (keyof ProxyRouteOptions)[] = ['route', 'maxBodyBytes', 'timeoutMs', 'query']

/** Parses the option `proxy`. Throws `config_invalid`. */
export function proxyRoutes(templates: readonly (string | ProxyRouteOptions)[], basePath: string) {
  if (!Array.isArray(templates)) invalid('proxy must be a list of METHOD /path/:param')
  return templates.map((entry: string | ProxyRouteOptions, at) => {
    const options: Partial<ProxyRouteOptions> =
      typeof entry === 'object' ? checkNames(`proxy[${at}]`, entry, optionNames) : { route: entry }
    const { route = '', query, maxBodyBytes = defaultBytes, timeoutMs = defaultTimeoutMs } = options
    const [, method, path] = template.exec(route) ?? []
    if (!method || !path || `${path}/`.startsWith(`${basePath}/`))
      invalid(
        `proxy[${at}] must be METHOD /path/:param, such as GET /api/agents/:id: capitals, plain segments, not under basePath`,
      )
    if (query !== undefined && !(Array.isArray(query) && query.every((name) => typeof name === 'string')))
      invalid(`query of proxy[${at}] must be a list of names`)
    if (!(maxBodyBytes >= 1 && maxBodyBytes <= maxBytes))
      invalid(`maxBodyBytes of proxy[${at}] must be from 1 byte to 1 GiB`)
    if (!(timeoutMs >= minTimeoutMs && timeoutMs <= maxTimeoutMs))
      invalid(`timeoutMs of proxy[${at}] must be from ${minTimeoutMs} to ${maxTimeoutMs} milliseconds`)
    return { template: route, method, segments: path.split('/'), query: query && [...query], maxBodyBytes, timeoutMs }
  })
}

/** Returns the query for the API, with its `?`. Returns undefined if the route does not list one of its names, which becomes a 400. */
export function queryOf({ query }: ProxyRoute, search: string): string | undefined {
  if (!query) return search
  const parameters = new URLSearchParams(search)
  if ([...parameters.keys()].some((name) => !query.includes(name))) return undefined
  // Encoded again, because the API may split the text in another way, for example at a semicolon.
  return parameters.size > 0 ? `?${parameters}` : ''
}

export interface ProxyMatch {
  readonly route: ProxyRoute
  /** The path to call, built from the decoded parameters; undefined if a parameter is not plain, which becomes a 400. */
  readonly path: string | undefined
}

/**
 * Returns the route of a request by its method and its path as the browser sent it. Without one, the backend does not serve the
 * request.
 */
export function matchRoute(routes: readonly ProxyRoute[], method: string, pathname: string): ProxyMatch | undefined {
  const segments = pathname.split('/')
  const route = routes.find((one) => one.method === method && fits(one, segments))
  return route && { route, path: pathOf(route, segments) }
}

function fits(route: ProxyRoute, segments: readonly string[]): boolean {
  if (route.segments.length !== segments.length) return false
  return route.segments.every((expected, at) => (expected.startsWith(':') ? segments[at] : expected === segments[at]))
}

function pathOf(route: ProxyRoute, segments: readonly string[]): string | undefined {
  const plain = segments.map((segment, at) => (route.segments[at]?.startsWith(':') ? parameter(segment) : segment))
  return plain.includes(undefined) ? undefined : plain.join('/')
}

/** Decodes a parameter once and encodes it again. Returns undefined if it is not plain. */
function parameter(raw: string): string | undefined {
  const value = attempt(() => decodeURIComponent(raw))
  // Some servers normalize a segment after they split the path, which makes a slash of a full-width slash. An encoded dot is refused in
  // any position, because no client has to encode it.
  if (value === undefined || !isPlain(value) || !isPlain(value.normalize('NFKC')) || /%2e/i.test(raw)) return undefined
  return encodeURIComponent(value)
}

/**
 * Returns whether every server reads the text as one segment, and reads the same text in it. Dots and blanks alone, separators, path
 * parameters, percent signs and control characters are not plain.
 */
function isPlain(text: string): boolean {
  return !/^[.\s]+$|[/\\;%?#\p{C}]/u.test(text)
}
