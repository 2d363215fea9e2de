import type { HttpEnvironment } from './http/environment.ts'

/** What a listener or an in-process fetch hands requests to. */
export interface ServedApp {
  fetch(request: Request, env: HttpEnvironment['Bindings']): Response | Promise<Response>
}

export interface LazyApp extends ServedApp {
  /** Loads it before the first request does. */
  load(): Promise<void>
}

/** An app that is loaded with the first request to it. A failure is not remembered: the next request tries again. */
export function onFirstRequest(load: () => Promise<ServedApp>): LazyApp {
  let loading: Promise<ServedApp> | undefined
  async function loaded(): Promise<ServedApp> {
    loading ??= load()
    try {
      return await loading
    } catch (error) {
      loading = undefined
      throw error
    }
  }
  return {
    fetch: async (request, env) => (await loaded()).fetch(request, env),
    load: async () => {
      await loaded()
    },
  }
}
