import { once } from 'node:events'
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { createApp } from './app.ts'
import { exampleBackend } from './backend.ts'
import { openSessions } from './sessions.ts'
import { readSettings } from './settings.ts'

/** How long requests in progress may take after the process was asked to end, in milliseconds. */
const graceMs = 2_000

async function main(): Promise<void> {
  // Ctrl-C reaches every process of a terminal. A parent process ends this one itself.
  if (process.connected) process.on('SIGINT', () => {})
  const settings = readSettings(process.env)
  const sessions = await openSessions(process.env)
  const app = await createApp(exampleBackend(settings, sessions.storage), sessions.place)
  const server = createServer(getRequestListener(app.fetch, { overrideGlobalObjects: false }))
  server.listen(settings.port, settings.host)
  await once(server, 'listening')
  const stop = (): void => {
    server.close(() => void sessions.close().finally(() => process.exit(0)))
    setTimeout(() => server.closeAllConnections(), graceMs).unref()
  }
  process.once('SIGTERM', stop)
  if (!process.connected) process.once('SIGINT', stop)
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
})
