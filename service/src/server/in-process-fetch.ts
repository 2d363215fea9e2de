import type { HttpEnvironment } from '../http/environment.ts'
import { loseInProcess } from '../http/lost-response.ts'
import type { ServedApp } from './served-app.ts'

/** A fetch without sockets: the origin chooses the app, an unknown one fails as an unreachable host does. */
export function createInProcessFetch(apps: Record<string, ServedApp>): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const app = apps[new URL(request.url).origin]
    if (app === undefined) throw new TypeError('fetch failed: the service has no such origin')
    request.signal.throwIfAborted()
    const env: HttpEnvironment['Bindings'] = {}
    return withAbort(request.signal, async () => {
      const answer = await app.fetch(request, env)
      return env.loss === undefined ? answer : loseInProcess(answer, env.loss)
    })
  }
}

async function withAbort(signal: AbortSignal, answer: () => Promise<Response>): Promise<Response> {
  let stop = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop)
  })
  try {
    return await Promise.race([answer(), aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
