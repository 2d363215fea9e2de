export { type FastifyHook, type FastifyScope, type NodeHandler, toFastifyPlugin, toNodeHandler } from './node.ts'
