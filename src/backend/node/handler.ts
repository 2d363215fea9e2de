import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Backend } from '../backend.ts'
import { nodeListener } from './listener.ts'

/** A listener of `node:http`, which is a middleware of Express and Connect as well. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void

/**
 * Returns a handler for `createServer` of `node:http` and `app.use` of Express and Connect. For requests that the backend does
 * not serve, it calls `next`. Without `next` they get 404. It reads the path as the browser sent it, so a mount path changes
 * nothing. Throws `config_invalid`.
 */
export function toNodeHandler(backend: Backend): NodeHandler {
  const listener = nodeListener('toNodeHandler', backend)
  return (request, response, next) => {
    if (next && !listener.serves(request)) next()
    else listener.respond(request, response)
  }
}
