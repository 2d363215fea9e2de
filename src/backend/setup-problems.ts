import { isLoopback } from '../config/service-url.ts'
import { attempt } from '../internal/attempt.ts'
import { csrfHeader } from './csrf.ts'
import type { SetupProblemEvent } from './events.ts'

/** Where a framework sends requests to the backend. */
export interface Mount {
  /**
   * A mount path with the values of its parameters, or a route up to its first parameter (`beforeFirstParameter` in
   * node/listener.ts). `scope`: a Fastify scope, which gets only requests for routes of its own.
   */
  readonly path: string | 'scope'
  /** The values of the parameters and wildcards in a mount path. `checkMount` cuts the path before the first of them. */
  readonly params?: unknown
  /** The methods of the route, in upper case. Default: all. */
  readonly methods?: readonly string[] | undefined
}

/** Reports mistakes in the setup of an app on loopback, and in its calls. */
export interface SetupProblems {
  /** Compares the host of a login with that of the redirect URI. */
  checkHost(request: Request): void
  /** Compares the path of a request that is not served with the paths of the backend. */
  checkPath(request: Request, paths: Iterable<string>): void
  /** Compares a mount with the routes of the backend, as method and path. */
  checkMount(mount: Mount, routes: readonly string[]): void
  /** Compares a subject whose sessions were ended with those of the sessions in memory. */
  checkSubject(subject: string, inMemory: readonly (string | undefined)[]): void
  /** Reports that `handle` was called without a `Request`. The message says what to use. */
  reportCall(message: string): void
}

/**
 * Emits each problem once. Without these events, the developer sees an error page of the browser, a 404, or nothing. It emits them for an
 * app on loopback only, because elsewhere a reverse proxy may change the host.
 */
export function setupProblems(origin: string, emit: (event: SetupProblemEvent) => void): SetupProblems {
  const app = new URL(origin)
  const isLocal = isLoopback(app.hostname)
  const reported = new Set<SetupProblemEvent['problem']>()

  function report(problem: SetupProblemEvent['problem'], message: string): void {
    reported.add(problem)
    emit({ type: 'setup_problem', problem, cause: { name: 'AgentAuthError', code: 'config_invalid', message } })
  }

  return {
    checkHost(request) {
      if (!isLocal || reported.has('host')) return
      const at = hostOf(request)
      // A development server in front may change the host. The page from which the login starts then has the right one.
      if (!at || at.host === app.host || !isLoopback(at.hostname) || refererOf(request)?.host === app.host) return
      report('host', `The login began at ${at.host}, but redirectUri is at ${app.host}. ${hostRemedy(at)}`)
    },
    checkPath(request, paths) {
      if (!isLocal || reported.has('path')) return
      const { pathname, searchParams } = new URL(request.url)
      // A page of the app may have the same path, such as `/login`. Only a request for the backend has one of these marks.
      const isMarked = ['return_to', 'state'].some((name) => searchParams.has(name)) || request.headers.has(csrfHeader)
      const meant = isMarked && [...paths].find((path) => path.endsWith(pathname))
      if (!meant) return
      report(
        'path',
        `${pathname} was requested, but the backend serves ${meant}. Pass the whole path on, or use toNodeHandler.`,
      )
    },
    checkMount({ path: mountPath, params, methods }, routes) {
      if (!isLocal || reported.has('mount')) return
      if (mountPath === 'scope') {
        const where = 'toFastifyPlugin is in a scope of the Fastify app, where it gets the routes of the scope alone.'
        report('mount', `${where} Register it on the app.`)
        return
      }
      const path = beforeFirstValue(mountPath, params)
      const arrives = (route: string): boolean =>
        route.includes(` ${path}/`) && (!methods || methods.includes(route.replace(/ .*/, '')))
      const hidden = routes.filter((route) => !arrives(route))
      // If no route is below the mount path, nothing is reported. The path may still contain the value of a parameter, or a part of
      // it, that `beforeFirstValue` did not find, and no event may contain such a value. A handler that is mounted at
      // the path of one whole route is not reported either, if no other route is below that path.
      if (hidden.length === 0 || hidden.length === routes.length) return
      const where = `mounted under ${path || '/'}, where ${hidden[0]} does not arrive`
      report('mount', `The backend is ${where}. Mount it by use(…) without a path.`)
    },
    checkSubject(subject, inMemory) {
      if (!isLocal || reported.has('subject') || inMemory.length === 0 || inMemory.includes(subject)) return
      const what = 'endSessionsOf found no session in memory with this subject.'
      report('subject', `${what} Pass session.claims?.subject, and no email address or name.`)
    },
    reportCall(message) {
      if (isLocal && !reported.has('call')) report('call', message)
    },
  }
}

/** Returns the beginning of a path before the first segment that is a value of a parameter or wildcard. */
function beforeFirstValue(path: string, params: unknown): string {
  const values = Object.values(Object(params) as object)
    .flat()
    .flatMap((value) => String(value).split('/'))
  const segments = path.split('/')
  const end = segments.findIndex((segment) => values.includes(segment))
  return segments.slice(0, end < 0 ? undefined : end).join('/')
}

/**
 * Returns what to do about a login that began at this host. It follows a sentence that ends with the host of `redirectUri`, which is
 * `there`.
 */
function hostRemedy({ hostname, host }: URL): string {
  // No callback at localhost is proposed, because a service may refuse it (RFC 8252 section 8.3).
  if (hostname === 'localhost') return 'Open the app there.'
  return `Serve the app there, or register and set a callback at ${host}.`
}

/** Returns the URL of the host that a request names. Some servers put another one into the URL of the request. */
function hostOf({ headers, url }: Request): URL | undefined {
  return attempt(() => new URL(`http://${headers.get('host') ?? new URL(url).host}`))
}

function refererOf({ headers }: Request): URL | undefined {
  return attempt(() => new URL(headers.get('referer') ?? ''))
}
