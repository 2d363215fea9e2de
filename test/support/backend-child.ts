import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { createBackend } from 'agent-auth/backend'
import type { BackendTask } from './backend-processes.ts'
import { listen } from './listen.ts'
import { onIoRedis } from './shared-stores.ts'

// One process of a backend, on a port of its own. The message endAll ends all sessions. After the message hold, the response of the next
// refresh waits for the message go before the backend gets it.
// Its connection to the storage would keep it running after the process that started it.
process.once('disconnect', () => process.exit())
const { url, prefix, options } = JSON.parse(process.argv[2] ?? '') as BackendTask
const { storage } = await onIoRedis(url, prefix)
let isHolding = false
let go = (): void => {}
const backend = createBackend({
  ...options,
  sessions: storage,
  async fetch(input, init) {
    const response = await fetch(input, init)
    if (!isHolding || !String(input).includes('=refresh_token')) return response
    isHolding = false
    const going = new Promise<void>((resolve) => {
      go = resolve
    })
    process.send?.('served')
    await going
    return response
  },
})
const server = createAdaptorServer({
  fetch: async (request) => (await backend.handle(request)) ?? new Response(null, { status: 404 }),
  overrideGlobalObjects: false,
}) as Server
const port = await listen(server)
process.on('message', async (said) => {
  if (said === 'go') go()
  if (said === 'hold') {
    isHolding = true
    process.send?.('holds')
  }
  if (said !== 'endAll') return
  await backend.endAll()
  process.send?.('ended')
})
process.send?.(port)
