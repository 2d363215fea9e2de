import { createServer } from 'node:http'
import { toNodeHandler } from 'agent-auth/backend/node'
import { backend, perUser, port, started, statusOf } from './backend.js'

const handle = toNodeHandler(backend)
const server = createServer(async (request, response) => {
  if (request.url !== '/') return handle(request, response)
  response.writeHead(200, perUser).end(await statusOf(request))
})
server.listen(port, '127.0.0.1', started)
