// The backend in Next.js: this file as app/auth/[...path]/route.ts, and app/api/[...path]/route.ts with the one line
// `export { GET, POST } from '../../auth/[...path]/route'`. Next may load a module more than once: use a storage that
// processes share.
import { memoryStorage } from 'agent-auth'
import { exampleBackend } from '../../src/backend.ts'
import { readSettings } from '../../src/settings.ts'

const backend = exampleBackend(readSettings(process.env), memoryStorage())

async function handle(request: Request): Promise<Response> {
  return (await backend.handle(request)) ?? new Response('Not found', { status: 404 })
}

export { handle as DELETE, handle as GET, handle as PATCH, handle as POST, handle as PUT }

/** Never rendered ahead of time: every answer depends on who asks. */
export const dynamic = 'force-dynamic'
