import { toNodeHandler } from 'agent-auth/backend/node'
import express from 'express'
import { backend, perUser, port, started, statusOf } from './backend.js'

const app = express()
app.use(toNodeHandler(backend))
app.get('/', async (request, response) => void response.set(perUser).send(await statusOf(request)))
app.listen(port, '127.0.0.1', started)
