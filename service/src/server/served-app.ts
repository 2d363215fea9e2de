import type { HttpEnvironment } from '../http/environment.ts'

/** What a listener or an in-process fetch hands requests to. */
export interface ServedApp {
  fetch(request: Request, env: HttpEnvironment['Bindings']): Response | Promise<Response>
}

/** An app that is loaded with the first request to it. A failure is not remembered: the next request tries again. */
export function onFirstRequest(load: () => Promise<ServedApp>): ServedApp {
  let loading: Promise<ServedApp> | undefined
  return {
    async fetch(request, env) {
      loading ??= load().catch((error: unknown) => {
        loading = undefined
        throw error
      })
      return (await loading).fetch(request, env)
    },
  }
}
