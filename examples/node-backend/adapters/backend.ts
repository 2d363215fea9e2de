// The backend that the apps of this folder mount, and what their page shows.
import { memoryStorage } from 'agent-auth'
import type { Backend, SessionSource } from 'agent-auth/backend'
import { exampleBackend } from '../src/backend.js'
import { readSettings } from '../src/settings.js'

const settings = readSettings(process.env)

export const backend: Backend = exampleBackend(settings, memoryStorage())
export const port: number = settings.port

/** The headers of a page that depends on the session. */
export const perUser = { 'content-type': 'text/plain', 'cache-control': 'no-store', vary: 'Cookie' }

/** Returns `signed-in` or `signed-out`. If the storage cannot be read, the user is not shown as signed out. */
export async function statusOf(request: SessionSource): Promise<string> {
  const { status } = await backend.getSession(request).catch(() => ({ status: 'unknown' }))
  return status
}

/** Prints the port when the app listens. Throws the error that some frameworks pass instead. */
export function started(error?: unknown): void {
  if (error instanceof Error) throw error
  process.stdout.write(`Listening on ${port}\n`)
}
