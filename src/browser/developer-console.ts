import type { AuthEvent } from '../events.ts'
import { isLoopback } from '../service-url.ts'

/** What a developer's page without `onEvent` does in its place. */
export interface DeveloperConsole {
  onEvent(event: AuthEvent): void
  /** Returns a `fetch` that writes to the console once why a browser refuses the API's responses. */
  watch(given: typeof fetch | undefined): typeof fetch
}

/** Returns what writes once to the console of a page on loopback what no call can throw, and undefined for another page. */
export function developerConsole(): DeveloperConsole | undefined {
  if (!isLoopback(globalThis.location?.hostname ?? '')) return undefined
  const said = new Set<string>()
  const warn = (what: string, text: string): void => {
    // biome-ignore lint/suspicious/noConsole: no call could throw this.
    if (!said.has(what)) console.warn(`agent-auth: ${text}`)
    said.add(what)
  }
  return {
    onEvent(event) {
      const { type } = event
      if (type === 'sent_without_token') warn(type, `${event.origin} gets no token, because it is not baseUrl.`)
      if (type === 'storage_degraded')
        warn(type, `the storage cannot be used (${event.reason}), so a reload may sign the user out. Allow site data.`)
    },
    watch: (given) => async (input, init) => {
      try {
        return await (given ?? fetch)(input, init)
      } catch (error) {
        if (error instanceof TypeError)
          warn(
            'fetch',
            `a request got no response. The API must run, and allow ${location.origin} and authorization by CORS.`,
          )
        throw error
      }
    },
  }
}
