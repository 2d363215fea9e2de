import type { HttpEnvironment } from '../http/hono-environment.ts'
import { loseInProcess } from '../http/lost-response.ts'
import type { ServedApp } from './served-app.ts'

/** Returns a fetch without sockets. The origin chooses the app; an unknown one rejects as an unreachable host does. */
export function createInProcessFetch(apps: Record<string, ServedApp>, isClosed: () => boolean): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const app = apps[new URL(request.url).origin]
    if (isClosed()) throw new TypeError('fetch failed: the service is closed')
    if (app === undefined) throw new TypeError('fetch failed: the service has no such origin')
    request.signal.throwIfAborted()
    const env: HttpEnvironment['Bindings'] = {}
    return withAbort(request.signal, async () => {
      const response = await app.fetch(request, env)
      return env.loss === undefined ? response : loseInProcess(response, env.loss)
    })
  }
}

async function withAbort(signal: AbortSignal, respond: () => Promise<Response>): Promise<Response> {
  let stop = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop)
  })
  try {
    return await Promise.race([respond(), aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
