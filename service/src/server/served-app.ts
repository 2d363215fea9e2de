import type { HttpEnvironment } from '../http/hono-environment.ts'

/** Responds to the requests of a listener or of an in-process fetch. */
export interface ServedApp {
  fetch(request: Request, env: HttpEnvironment['Bindings']): Response | Promise<Response>
}

/** Loads an app with the first request to it. After a failure the next request tries again. */
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
