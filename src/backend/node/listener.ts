import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { getRequestListener } from '@hono/node-server'
import { invalid } from '../../config/invalid.ts'
import { attempt } from '../../internal/attempt.ts'
import type { Backend } from '../backend.ts'
import { errorResponse } from '../responses.ts'

/** A request of Node, with what Express and Connect add. */
export type MountedRequest = (IncomingMessage | Http2ServerRequest) & {
  readonly originalUrl?: unknown
  /** Set by Express: the part of the path that a mount path matched, and the values of the parameters and wildcards in it. */
  readonly baseUrl?: unknown
  readonly params?: unknown
  /** Set by Express if the handler belongs to a route. A middleware has none. */
  readonly route?: unknown
}

/** The requests and responses of Node for one backend. */
export interface NodeListener {
  /** Returns whether the backend serves the method and path of a request. */
  serves(request: MountedRequest): boolean
  /** Reports a mount path or a route of Express or Connect that hides routes of the backend. */
  checkMount(request: MountedRequest): void
  /** Sends the response of the backend, or 404 if it does not serve the request. */
  respond(request: MountedRequest, response: ServerResponse | Http2ServerResponse): void
}

/** Connects a backend to the requests of Node. `caller` is named in the `config_invalid` that it throws for another value. */
export function nodeListener(caller: string, backend: Backend): NodeListener {
  if (typeof backend?.serves !== 'function') invalid(`${caller} needs the backend that createBackend returned`)
  const listener = getRequestListener(async (request) => (await backend.handle(request)) ?? notFound(backend), {
    overrideGlobalObjects: false,
  })
  return {
    serves: (request) => backend.serves(request.method ?? 'GET', pathOf(targetOf(request))),
    checkMount(request) {
      const target = targetOf(request)
      const { url = '', baseUrl, params } = request
      // Express sets `baseUrl`. Connect does not: it only removes the mount path from `url`.
      const removed = target.endsWith(url) ? target.slice(0, -url.length) : ''
      const mountPath = typeof baseUrl === 'string' ? baseUrl : removed
      if (mountPath) backend.checkMount({ path: mountPath, params })
      const { path, methods } = Object(request.route) as { path?: unknown; methods?: object }
      if (typeof path === 'string')
        backend.checkMount({ path: beforeFirstParameter(path), methods: methodsOf(methods) })
    },
    respond(request, response) {
      request.url = targetOf(request)
      void listener(request, response)
    },
  }
}

/** Returns a route of Express up to its first parameter, wildcard or option, without the slash before that. */
function beforeFirstParameter(path: string): string {
  return path.replace(/\/?[:*{(].*$/, '')
}

/** Returns the methods of a route of Express, or undefined for `all`. */
function methodsOf(methods: object = {}): readonly string[] | undefined {
  const names = Object.keys(methods)
  return names.includes('_all') ? undefined : names.map((name) => name.toUpperCase())
}

/** Returns the target as the browser sent it, because Express and Connect remove the mount path from `url`. */
function targetOf(request: MountedRequest): string {
  return typeof request.originalUrl === 'string' ? request.originalUrl : (request.url ?? '')
}

/** Returns the path of a target in origin form or absolute form, and no path for others. RFC 9112 section 3.2. */
function pathOf(target: string): string {
  return attempt(() => new URL(target.startsWith('/') ? `http://host${target}` : target))?.pathname ?? ''
}

function notFound({ basePath }: Backend): Response {
  const message = `Not a route of this backend. It serves login, callback, session and logout under ${basePath}, and the routes in proxy.`
  return errorResponse(404, { code: 'request_failed', message })
}
