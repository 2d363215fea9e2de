import { toNodeHandler } from 'agent-auth/backend/node'
import { theBackend } from '../backend'

export default fromNodeMiddleware(toNodeHandler(theBackend()))
