import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { createBackend } from 'agent-auth/backend'
import type { BackendTask } from './backend-processes.ts'
import { listen } from './listen.ts'
import { connectTo } from './shared-stores.ts'

// One process of a backend, on a port of its own; it says when it sends a refresh. The message endAll ends all sessions.
// Its connection to the storage would keep it running after the process that started it.
process.once('disconnect', () => process.exit())
const { kind, url, prefix, options } = JSON.parse(process.argv[2] ?? '') as BackendTask
const { storage } = await connectTo(kind, url, prefix)
const backend = createBackend({
  ...options,
  sessions: storage,
  fetch(input, init) {
    if (String(input).includes('=refresh_token')) process.send?.('sends')
    return fetch(input, init)
  },
})
const server = createAdaptorServer({
  fetch: async (request) => (await backend.handle(request)) ?? new Response(null, { status: 404 }),
  overrideGlobalObjects: false,
}) as Server
const port = await listen(server)
process.on('message', async (said) => {
  if (said !== 'endAll') return
  await backend.endAll()
  process.send?.('ended')
})
process.send?.(port)
