import type { IncomingMessage, ServerResponse } from 'node:http'
import { invalid } from '../../config/invalid.ts'
import { AgentAuthError } from '../../errors.ts'
import type { Backend } from '../backend.ts'
import { endNodeResponse, isNodeResponse } from '../mistaken-call.ts'
import { errorResponse } from '../responses.ts'
import { nodeListener } from './listener.ts'

/** The members of a Fastify instance that the plugin uses. */
export interface FastifyScope {
  /** Adds a hook that runs before Fastify reads a body. */
  addHook(name: 'onRequest', hook: FastifyHook): unknown
  /** Returns whether the instance, or one that contains it, has a decorator of this name. */
  hasDecorator(name: string): boolean
  /** Adds a decorator. */
  decorate(name: string, value: string): unknown
}

/** A hook of Fastify. It gets the request and the response of Node. */
export type FastifyHook = (
  request: { readonly raw: IncomingMessage },
  reply: { readonly raw: ServerResponse; hijack(): unknown },
  done: () => void,
) => void

/**
 * Returns a plugin for `app.register` of Fastify. It responds to requests for the backend before Fastify reads their bodies, and
 * passes all others on. Needs `npm install @hono/node-server`. Register it on the app: in a scope, the routes of the backend get 404.
 * Throws `config_invalid`, and rejects with it if a backend with this `basePath` is mounted already.
 */
export function toFastifyPlugin(backend: Backend): (scope: FastifyScope) => Promise<void> {
  const listener = nodeListener('toFastifyPlugin', backend)
  const { basePath } = backend
  const plugin = async (scope: FastifyScope, ...others: unknown[]): Promise<void> => {
    // As a listener of node:http or a middleware, it gets a request, a response and perhaps `next`.
    if (typeof scope?.addHook !== 'function') return refuse(others)
    const name = `agent-auth ${basePath}`
    if (scope.hasDecorator(name))
      invalid(`a backend with basePath ${basePath} is mounted twice in this Fastify app. Register its plugin once`)
    scope.decorate(name, basePath)
    // The app is a plain object. A scope has the instance around it as its prototype.
    if (Object.getPrototypeOf(scope) !== Object.prototype) backend.checkMount({ path: 'scope' })
    scope.addHook('onRequest', ({ raw }, reply, done) => {
      if (!listener.serves(raw)) return done()
      reply.hijack()
      listener.respond(raw, reply.raw)
    })
  }
  // With `skip-override`, Fastify adds the hook to the app on which the plugin is registered. Without it, the plugin would get a scope of
  // its own, which has no routes.
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true })
}

/**
 * Gives `config_invalid` to `next` of Express and Connect, and rejects with it in Fastify and Hono. With `createServer` a rejection would
 * end the process, so the browser gets a 500 that says what to use.
 */
async function refuse([response, next]: readonly unknown[]): Promise<void> {
  const message =
    'Configuration: toFastifyPlugin is for app.register of Fastify. With node:http, Express and Connect use toNodeHandler(backend), in Hono backend.handle.'
  const error = new AgentAuthError('config_invalid', message)
  if (!isNodeResponse(response)) throw error
  // Connect and Express 4 do not wait for the promise, so a rejection would end the process.
  if (typeof next === 'function') next(error)
  else await endNodeResponse(response, errorResponse(500, error))
}
