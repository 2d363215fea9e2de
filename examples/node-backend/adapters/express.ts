import { toNodeHandler } from 'agent-auth/backend/node'
import express, { type ErrorRequestHandler } from 'express'
import { account, backend, home, login, perUser, port, started, statusOf } from './backend.js'

const app = express()
app.use(toNodeHandler(backend))
app.get('/', async (request, response) => void response.set(perUser).send(await home(request)))
app.get('/account', async (request, response) => {
  const html = await account(request)
  html ? response.set(perUser).send(html) : response.redirect(login)
})
const onError: ErrorRequestHandler = (error, _request, response, _next) =>
  void response.status(statusOf(error)).send('The page failed. Load it again.')
app.use(onError)
app.listen(port, '127.0.0.1', started)
