export { type FastifyHook, type FastifyScope, toFastifyPlugin } from './fastify.ts'
export { type NodeHandler, toNodeHandler } from './handler.ts'
