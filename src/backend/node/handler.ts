import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { AgentAuthError } from '../../errors.ts'
import type { Backend } from '../backend.ts'
import { nodeListener } from './listener.ts'

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
 * the handler without one. Create it once, outside of any listener: `(request, response) => toNodeHandler(backend)` only creates it,
 * so the browser gets no response. Throws `config_invalid`, and gives it to the framework if the arguments of a call are not those
 * of Node.
 */
export function toNodeHandler(backend: Backend): NodeHandler {
  const listener = nodeListener('toNodeHandler', backend)
  return (request, response, next) => {
    if (typeof response?.writeHead !== 'function') return refuse(next)
    listener.checkMount(request)
    if (next && !listener.serves(request)) next()
    else listener.respond(request, response)
  }
}

/** Gives the error to `next`, where Fastify expects it for its plugins and hooks. Throws it if there is none. */
function refuse(next: ((error: unknown) => void) | undefined): void {
  const message =
    'Configuration: toNodeHandler is for node:http, Express and Connect. In Fastify use app.register(toFastifyPlugin(backend)), in Hono backend.handle.'
  const error = new AgentAuthError('config_invalid', message)
  if (!next) throw error
  next(error)
}
