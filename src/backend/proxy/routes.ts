import { invalid } from '../../config/invalid.ts'

/** One route of the API that pages may call through the backend. */
export interface ProxyRoute {
  /** `METHOD /path/:param`, as configured. */
  readonly template: string
  readonly method: string
  readonly segments: readonly string[]
}

const template = /^(GET|HEAD|POST|PUT|PATCH|DELETE) ((?:\/(?::\w+|[\w~-][\w.~-]*))+)$/

/** Parses the option `proxy`. Throws `config_invalid`. */
export function proxyRoutes(templates: readonly string[], basePath: string): readonly ProxyRoute[] {
  return templates.map((text, at) => {
    const [, method, path] = template.exec(text) ?? []
    if (!method || !path || `${path}/`.startsWith(`${basePath}/`))
      invalid(
        `proxy[${at}] must be METHOD /path/:param, such as GET /api/agents/:id: capitals, plain segments, not under basePath`,
      )
    return { template: text, method, segments: path.split('/') }
  })
}

export interface ProxyMatch {
  readonly route: ProxyRoute
  /** The path to call, built from the decoded parameters; undefined if a parameter is not plain. */
  readonly path: string | undefined
}

/** Returns the route of a request by its method and its path as the browser sent it. */
export function matchRoute(routes: readonly ProxyRoute[], method: string, pathname: string): ProxyMatch | undefined {
  const segments = pathname.split('/')
  let refused: ProxyMatch | undefined
  for (const route of routes) {
    if (route.method !== method || !fits(route, segments)) continue
    const path = pathOf(route, segments)
    if (path !== undefined) return { route, path }
    refused ??= { route, path }
  }
  return refused
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
  try {
    const value = decodeURIComponent(raw)
    // Some servers normalize a segment after they split the path, which makes a slash of a full-width slash.
    return isPlain(value) && isPlain(value.normalize('NFKC')) && !/%2e/i.test(raw)
      ? encodeURIComponent(value)
      : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns whether every server reads the text as one segment, and as this one. Dots and blanks alone, separators, path
 * parameters, percent signs and control characters are not plain.
 */
function isPlain(text: string): boolean {
  return !/^[.\s]+$|[/\\;%?#\p{C}]/u.test(text)
}
