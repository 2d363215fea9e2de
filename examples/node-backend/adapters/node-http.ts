import { createServer } from 'node:http'
import { toNodeHandler } from 'agent-auth/backend/node'
import { backend, home, perUser, port, started, statusOf } from './backend.js'

const handle = toNodeHandler(backend)
const server = createServer(async (request, response) => {
  if (request.url !== '/') return handle(request, response)
  try {
    const html = await home(request)
    response.writeHead(200, perUser).end(html)
  } catch (error) {
    response.writeHead(statusOf(error)).end('The page failed. Load it again.')
  }
})
server.listen(port, '127.0.0.1', started)
