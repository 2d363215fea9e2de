import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { getRequestListener, type Http2Bindings, type HttpBindings } from '@hono/node-server'
import { attempt, invalid } from '../../internal/values.ts'
import type { Backend } from '../backend.ts'
import { errorResponse } from '../responses.ts'

/** A listener of `node:http` and `node:http2`, which is a middleware of Express and Connect as well. */
export type NodeHandler = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
  next?: (error?: unknown) => void,
) => void

/**
 * Returns a handler for `createServer` of `node:http` and `node:http2` and `app.use` of Express and Connect. Needs
 * `npm install @hono/node-server`. For requests that the backend does not serve, it calls `next`. Without `next` they get 404. It
 * reads the whole path as the browser sent it, also under a mount path. A mount path hides the routes that are not under it, so mount
 * the handler without one. Create it once, outside of any listener. Throws `config_invalid`, also for a call that is not one of Node.
 */
export function toNodeHandler(backend: Backend): NodeHandler {
  const listener = nodeListener('toNodeHandler', backend)
  return (request, response, next) => {
    if (typeof response?.writeHead !== 'function')
      invalid(
        'toNodeHandler is for node:http, Express and Connect. In Fastify use app.register(toFastifyPlugin(backend)), in Hono backend.handle',
      )
    if (next && !listener.serves(request)) next()
    else listener.respond(request, response)
  }
}

/** The members of a Fastify instance that the plugin uses. */
export interface FastifyScope {
  /** Adds a hook that runs before Fastify reads a body. */
  addHook(name: 'onRequest', hook: FastifyHook): unknown
}

/** A hook of Fastify. It gets the request and the response of Node. */
export type FastifyHook = (
  request: { readonly raw: IncomingMessage },
  reply: { readonly raw: ServerResponse; hijack(): unknown; getHeaders(): object },
  done: () => void,
) => void

/**
 * Returns a plugin for `app.register` of Fastify. It responds to requests for the backend before Fastify reads their bodies, and
 * passes all others on. Needs `npm install @hono/node-server`. Register it on the app: in a scope, the routes of the backend get 404.
 * Throws `config_invalid`, also if Fastify does not call it.
 */
export function toFastifyPlugin(backend: Backend): (scope: FastifyScope) => Promise<void> {
  const listener = nodeListener('toFastifyPlugin', backend)
  const plugin = async (scope: FastifyScope): Promise<void> => {
    if (typeof scope?.addHook !== 'function')
      invalid(
        'toFastifyPlugin is for app.register of Fastify. With node:http, Express and Connect use toNodeHandler(backend), in Hono backend.handle',
      )
    scope.addHook('onRequest', ({ raw }, reply, done) => {
      if (!listener.serves(raw)) return done()
      // Fastify would send what earlier hooks have set.
      for (const [name, value] of Object.entries(reply.getHeaders()))
        if (value !== undefined) reply.raw.setHeader(name, value)
      reply.hijack()
      listener.respond(raw, reply.raw)
    })
  }
  // With `skip-override`, Fastify adds the hook to the app on which the plugin is registered. Without it, the plugin would get a scope of
  // its own, which has no routes.
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true })
}

/** A request of Node. Express and Connect remove a mount path from `url`, and keep the target in `originalUrl`. */
type MountedRequest = (IncomingMessage | Http2ServerRequest) & { readonly originalUrl?: unknown }

function nodeListener(caller: string, backend: Backend) {
  if (typeof backend?.serves !== 'function') invalid(`${caller} needs the backend that createBackend returned`)
  const handle = async (request: Request, { outgoing }: HttpBindings | Http2Bindings) => {
    const response = (await backend.handle(request)) ?? notFound(backend)
    // The listener writes all headers at once, which would replace the cookies that a middleware of the app has set.
    for (const line of [outgoing.getHeader('set-cookie') ?? []].flat()) response.headers.append('set-cookie', `${line}`)
    return response
  }
  const listener = getRequestListener(handle, { overrideGlobalObjects: false })
  return {
    /** Returns whether the backend serves the method and path of a request. */
    serves: (request: MountedRequest) => backend.serves(request.method ?? 'GET', pathOf(targetOf(request))),
    /** Sends the response of the backend, or 404 if it does not serve the request. */
    respond(request: MountedRequest, response: ServerResponse | Http2ServerResponse): void {
      request.url = targetOf(request)
      void listener(request, response)
    },
  }
}

function targetOf({ originalUrl, url }: MountedRequest): string {
  return typeof originalUrl === 'string' ? originalUrl : (url ?? '')
}

/** Returns the path of a target in origin form or absolute form, and no path for others. RFC 9112 section 3.2. */
function pathOf(target: string): string {
  return attempt(() => new URL(target.startsWith('/') ? `http://host${target}` : target))?.pathname ?? ''
}

function notFound({ basePath }: Backend): Response {
  const message = `Not a route of this backend. It serves login, callback, session and logout under ${basePath}, and the routes in proxy.`
  return errorResponse(404, { code: 'request_failed', message })
}
