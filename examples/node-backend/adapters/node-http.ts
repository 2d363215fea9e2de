import { createServer } from 'node:http'
import { toNodeHandler } from 'agent-auth/backend/node'
import { account, backend, home, login, perUser, port, started, statusOf } from './backend.js'

const handle = toNodeHandler(backend)
const server = createServer(async (request, response) => {
  if (request.url !== '/' && request.url !== '/account') return handle(request, response)
  try {
    const html = await (request.url === '/' ? home(request) : account(request))
    if (html) response.writeHead(200, perUser).end(html)
    else response.writeHead(302, { location: login }).end()
  } catch (error) {
    response.writeHead(statusOf(error)).end('The page failed. Load it again.')
  }
})
server.listen(port, '127.0.0.1', started)
